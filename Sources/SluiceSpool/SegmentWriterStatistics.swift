// SPDX-License-Identifier: Apache-2.0

/// What a `SegmentWriter` has done since it was made, and what it is doing.
package struct SegmentWriterStatistics: Hashable, Sendable {
    /// Commits whose records are durable.
    package var commits = 0
    /// Commits that were answered with an error, refusals for want of room included.
    package var failedCommits = 0
    /// Requests that were answered because a commit took too long.
    package var stalledRequests = 0
    package var committedRequests = 0
    package var committedRecords = 0
    /// Bytes of NDJSON.
    package var committedBytes = 0
    package var sealedSegments = 0
    /// Given up after a failed call, and renamed without footer.
    package var abandonedSegments = 0
    /// Removed by somebody else while they were written.
    package var lostSegments = 0
    /// Bytes that wait for the next commit.
    package var bufferedBytes = 0
    /// The error that `append` answers with at the moment, if any.
    package var refusal: SpoolError?

    package init() {}

    mutating func add(_ commit: CommitReport) {
        guard commit.error == nil else {
            failedCommits += 1
            return
        }
        commits += 1
        committedRequests += commit.requests
        committedRecords += commit.records
        committedBytes += commit.bytes
    }
}

/// A group of requests that were answered together.
package struct CommitCompletion {
    /// The number that `append` returned for the first of them; the others follow without gaps.
    package var firstTicket: UInt64
    /// The words that were handed to `append`, in its order; valid during the call only.
    package var tokens: UnsafeBufferPointer<UInt>
    /// Nil when all their records are durable; else none was acknowledged, and some may still be delivered.
    package var error: SpoolError?
}

/// How long a commit took and what it held, for histograms.
package struct CommitReport: Hashable, Sendable {
    package var nanoseconds: Int64
    package var requests: Int
    package var records: Int
    /// Bytes of NDJSON.
    package var bytes: Int
    package var error: SpoolError?
}

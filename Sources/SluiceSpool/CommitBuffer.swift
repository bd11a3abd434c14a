// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// The records of requests that wait for the next commit.
struct CommitBuffer: ~Copyable {
    private struct Request {
        /// One past its last byte in the buffer.
        var end: Int
        var records: Int
        var receivedAt: Int
    }

    /// Memory that an empty buffer keeps.
    private static let keptBytes = 1 << 20

    private var content = ByteBuffer()
    private var requests: ContiguousArray<Request> = []
    private(set) var recordCount = 0

    init() {}

    var isEmpty: Bool { requests.isEmpty }
    var requestCount: Int { requests.count }
    /// Bytes of records, and what the bookkeeping of many small requests takes.
    var chargedBytes: Int { content.count + requests.count * 64 }
    var contentBytes: Int { content.count }

    @inline(__always)
    mutating func append(_ records: UnsafeRawBufferPointer, count: Int, receivedAt: Int) {
        content.append(records)
        recordCount += count
        requests.append(Request(end: content.count, records: count, receivedAt: receivedAt))
    }

    mutating func removeAll() {
        content.removeAll()
        recordCount = 0
        requests.removeAll(keepingCapacity: true)
    }

    /// Gives the memory of busy times back; only while it is empty.
    mutating func shrink() {
        if requests.capacity > 10_000 { requests = [] }
        content.shrink(to: Self.keptBytes)
    }

    /// Cuts the content into frames, between requests only.
    func forEachFrame(
        _ body: (UnsafeRawBufferPointer, _ records: Int, _ receivedAt: ClosedRange<Int>) throws(SpoolError) -> Void
    ) throws(SpoolError) {
        var start = 0
        var index = 0
        while index < requests.count {
            var records = 0
            var times = requests[index].receivedAt...requests[index].receivedAt
            var end = start
            while index < requests.count, requests[index].end - start <= SegmentEncoder.maximumContentBytes {
                let request = requests[index]
                records += request.records
                times = min(times.lowerBound, request.receivedAt)...max(times.upperBound, request.receivedAt)
                end = request.end
                index += 1
            }
            precondition(end > start, "a request that fits into no frame was taken")
            try body(UnsafeRawBufferPointer(rebasing: content.bytes[start..<end]), records, times)
            start = end
        }
    }
}

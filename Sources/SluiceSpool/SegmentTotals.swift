// SPDX-License-Identifier: Apache-2.0

/// What a segment holds, counted as it is written or read.
package struct SegmentTotals: Hashable, Sendable {
    /// Seconds that a record can have been received at, and that can be reckoned with.
    static let times = -31_536_000_000...300_000_000_000

    package var records = 0
    /// Data frames.
    package var frames = 0
    /// Bytes of the frames' content.
    package var contentBytes = 0
    /// First and last receipt time, Unix seconds; nil while there is no record, or none says so.
    package var receivedAt: ClosedRange<Int>?

    package init() {}

    mutating func add(records: Int, contentBytes: Int, receivedAt times: ClosedRange<Int>?) {
        self.records += records
        frames += 1
        self.contentBytes += contentBytes
        guard let times else { return }
        receivedAt =
            receivedAt.map {
                min($0.lowerBound, times.lowerBound)...max($0.upperBound, times.upperBound)
            } ?? times
    }
}

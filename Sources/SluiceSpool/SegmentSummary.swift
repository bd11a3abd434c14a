// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// What a segment holds, found out as cheaply as the file allows.
///
/// With a footer that verifies and knows its place: two reads. Without: its count frames are walked and nothing is
/// decompressed. Where that walk meets anything that is not whole, the file is read in full, and the totals are the
/// records that a `SegmentReader` delivers plus those that count frames declare lost.
package struct SegmentSummary: Hashable, Sendable {
    package var totals: SegmentTotals
    /// The file's length.
    package var fileBytes: Int
    package var hasFooter: Bool
    /// Whether every byte was accounted for without meeting damage; a footer is taken at its word.
    package var isWhole: Bool

    /// - Throws: `notASpool` for what is no regular file, `unsupportedVersion`, `io`.
    package init(of path: String) throws(SpoolError) {
        let file = try spoolCall { () throws(SystemError) in try File(opening: path, O_RDONLY) }
        let reader = try SegmentReader(file)
        self = try reader.summary()
    }
}

extension SegmentReader {
    /// Sums the segment up; only before the first `next`.
    package func summary() throws(SpoolError) -> SegmentSummary {
        if let footer = try trailingFooter() {
            var totals = SegmentTotals()
            totals.records = footer.records
            totals.frames = footer.frames
            totals.contentBytes = footer.contentBytes
            totals.receivedAt = footer.records > 0 ? footer.receivedAt : nil
            return SegmentSummary(totals: totals, fileBytes: fileBytes, hasFooter: true, isWhole: true)
        }
        if let totals = try walk() {
            return SegmentSummary(totals: totals, fileBytes: fileBytes, hasFooter: false, isWhole: true)
        }
        return try readAll()
    }

    private func readAll() throws(SpoolError) -> SegmentSummary {
        var summary = SegmentSummary(totals: SegmentTotals(), fileBytes: fileBytes, hasFooter: false, isWhole: true)
        var buffer = ByteBuffer()
        while true {
            switch try next(into: &buffer) {
            case .frame(_, _, let declared):
                summary.totals.add(
                    records: declared ?? buffer.bytes.lineCount,
                    contentBytes: buffer.count,
                    receivedAt: nil
                )
            case .damaged(_, _, let declared):
                summary.isWhole = false
                summary.totals.records += declared ?? 0
            case .tornTail:
                summary.isWhole = false
            case .end(let footer):
                summary.hasFooter = footer != nil
                return summary
            }
        }
    }
}

extension SegmentSummary {
    init(totals: SegmentTotals, fileBytes: Int, hasFooter: Bool, isWhole: Bool) {
        self.totals = totals
        self.fileBytes = fileBytes
        self.hasFooter = hasFooter
        self.isWhole = isWhole
    }
}

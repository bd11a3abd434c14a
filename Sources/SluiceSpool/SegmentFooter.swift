// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// The last frame of a segment that was sealed in good order: its totals.
///
/// A skippable frame whose body is a line of JSON.
package struct SegmentFooter: Hashable, Sendable {
    static let tag: StaticString = #"{"sluice":"footer""#

    package var records: Int
    /// Data frames.
    package var frames: Int
    /// Bytes of the frames' content.
    package var contentBytes: Int
    /// Bytes of the file before the footer.
    package var fileBytes: Int
    /// First and last receipt time of its records, Unix seconds.
    package var receivedAt: ClosedRange<Int>
    /// Names that were removed from events while the segment was written, the most frequent of them.
    package var removedNames: NameTally

    package init(
        records: Int,
        frames: Int,
        contentBytes: Int,
        fileBytes: Int,
        receivedAt: ClosedRange<Int>,
        removedNames: NameTally = NameTally()
    ) {
        self.records = records
        self.frames = frames
        self.contentBytes = contentBytes
        self.fileBytes = fileBytes
        self.receivedAt = receivedAt
        self.removedNames = removedNames
    }

    /// The most records and bytes that a footer is believed; the sum over all segments of a spool is still a number.
    private static let mostRecords = 1_000_000_000_000
    private static let mostBytes = 1_000_000_000_000_000

    /// Reads a frame that verified; nil when a member is missing or no writer's.
    init?(verified frame: UnsafeRawBufferPointer) {
        guard let records = frame.number(after: #""records":"#),
            let frames = frame.number(after: #""frames":"#),
            let contentBytes = frame.number(after: #","bytes":"#),
            let fileBytes = frame.number(after: #""file_bytes":"#),
            let first = frame.number(after: #""first_received_at":"#),
            let last = frame.number(after: #""last_received_at":"#), first <= last,
            max(records, frames) <= Self.mostRecords, max(contentBytes, fileBytes) <= Self.mostBytes,
            SegmentTotals.times.contains(last)
        else { return nil }
        self.init(
            records: records,
            frames: frames,
            contentBytes: contentBytes,
            fileBytes: fileBytes,
            receivedAt: first...last,
            removedNames: NameTally(in: SluiceFrame.body(of: frame), key: "removed_names")
        )
    }

    package func append(to output: inout ByteBuffer) {
        SluiceFrame.append(to: &output) { output in
            output.append(Self.tag)
            output.append(#","records":"#)
            output.append(decimal: records)
            output.append(#","frames":"#)
            output.append(decimal: frames)
            output.append(#","bytes":"#)
            output.append(decimal: contentBytes)
            output.append(#","file_bytes":"#)
            output.append(decimal: fileBytes)
            output.append(#","first_received_at":"#)
            output.append(decimal: max(0, receivedAt.lowerBound))
            output.append(#","last_received_at":"#)
            output.append(decimal: max(0, receivedAt.upperBound))
            if !removedNames.isEmpty {
                // Last: a name may look like another member's key.
                output.append(#","removed_names":"#)
                removedNames.appendJSON(to: &output)
            }
            output.append("}\n")
        }
    }
}

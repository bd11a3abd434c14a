// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Turns records into the bytes of a group: a count frame and a data frame.
///
/// One per thread; it reuses its memory.
package final class SegmentEncoder {
    /// More never goes into one frame.
    package static let maximumContentBytes = 4 << 20

    private var compressor = LZ4Compressor()
    private var group = ByteBuffer()

    package init() {}

    /// Encodes whole NDJSON lines, at least one and at most `maximumContentBytes`.
    ///
    /// - Returns: the group's bytes; valid until the next call.
    package func encode(
        _ content: UnsafeRawBufferPointer,
        records: Int,
        receivedAt: ClosedRange<Int>
    ) -> UnsafeRawBufferPointer {
        precondition(content.count <= Self.maximumContentBytes, "a frame holds at most 4 MiB")
        precondition(content.last == UInt8(ascii: "\n"), "records end with a line feed")
        group.removeAll()
        var commit = CommitFrame(
            records: records,
            dataBytes: 0,
            contentBytes: content.count,
            receivedAt: receivedAt,
            dataChecksum: 0
        )
        commit.append(to: &group)
        compressor.append(content, to: &group)
        commit.dataBytes = group.count - CommitFrame.length
        commit.dataChecksum = Checksum.xxh3(UnsafeRawBufferPointer(rebasing: group.bytes[CommitFrame.length...]))
        var front = ByteBuffer(capacity: CommitFrame.length)
        commit.append(to: &front)
        group.replace(at: 0, with: front.bytes)
        return group.bytes
    }

    /// Gives memory back after a large group.
    package func shrink(to bytes: Int) {
        group.removeAll()
        group.shrink(to: bytes)
    }
}

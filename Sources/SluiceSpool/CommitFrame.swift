// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// The skippable frame before each data frame: what the data frame holds, readable without decompressing it.
///
/// Its body, 40 bytes: `CNT1`, then little-endian `u32` records, `u32` bytes of the data frame, `u32` bytes of its
/// content, `i64` first and `i64` last receipt time in Unix seconds, `u64` XXH3-64 of the data frame's bytes.
struct CommitFrame {
    static let tag: StaticString = "CNT1"
    /// The value of the size field: body and checksum.
    static let size = 48
    /// Bytes of the whole frame.
    static let length = SluiceFrame.prefixBytes + size

    var records: Int
    /// Bytes of the data frame that follows.
    var dataBytes: Int
    /// Bytes of the data frame's content.
    var contentBytes: Int
    var receivedAt: ClosedRange<Int>
    /// XXH3-64 of the data frame.
    var dataChecksum: UInt64

    init(records: Int, dataBytes: Int, contentBytes: Int, receivedAt: ClosedRange<Int>, dataChecksum: UInt64) {
        self.records = records
        self.dataBytes = dataBytes
        self.contentBytes = contentBytes
        self.receivedAt = receivedAt
        self.dataChecksum = dataChecksum
    }

    /// Reads a frame that verified; nil when its times are the wrong way round or out of all range.
    init?(verified frame: UnsafeRawBufferPointer) {
        records = Int(frame.u32(at: 12))
        dataBytes = Int(frame.u32(at: 16))
        contentBytes = Int(frame.u32(at: 20))
        let first = Int(Int64(bitPattern: frame.u64(at: 24)))
        let last = Int(Int64(bitPattern: frame.u64(at: 32)))
        guard first <= last, SegmentTotals.times.contains(first), SegmentTotals.times.contains(last) else { return nil }
        receivedAt = first...last
        dataChecksum = frame.u64(at: 40)
    }

    func append(to output: inout ByteBuffer) {
        SluiceFrame.append(to: &output) { output in
            output.append(Self.tag)
            output.append(littleEndian: UInt32(records))
            output.append(littleEndian: UInt32(dataBytes))
            output.append(littleEndian: UInt32(contentBytes))
            output.append(littleEndian: Int64(receivedAt.lowerBound))
            output.append(littleEndian: Int64(receivedAt.upperBound))
            output.append(littleEndian: dataChecksum)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// A run of neighbouring records of one frame that are resolved alike.
///
/// On disk 28 bytes, little-endian, so that a torn or foreign one shows:
/// ```
/// 0        8      12     16        20         28
/// | frame  | first | count | outcome | checksum |
/// ```
/// `frame` is the byte offset of the frame in the segment; `outcome` fills four bytes with three zeros; the checksum is
/// the XXH3-64 of the twenty bytes before it, seeded with the segment's name.
package struct ProgressEntry: Hashable, Sendable {
    package static let size = 28

    /// Byte offset of the frame.
    package var frame: Int
    /// Index of the first record in the frame.
    package var first: Int
    /// Number of records, at least one.
    package var count: Int
    package var outcome: Outcome

    package init(frame: Int, first: Int, count: Int = 1, outcome: Outcome) {
        precondition(frame >= 0 && first >= 0 && count > 0, "a run has a place and records")
        self.frame = frame
        self.first = first
        self.count = count
        self.outcome = outcome
    }

    /// Reads an entry; nil when the bytes do not verify.
    init?(bytes: UnsafeRawBufferPointer, seed: UInt64) {
        guard bytes.count >= Self.size,
            Checksum.xxh3(UnsafeRawBufferPointer(rebasing: bytes[..<20]), seed: seed)
                == bytes.loadUnaligned(fromByteOffset: 20, as: UInt64.self).littleEndian
        else { return nil }
        let frame = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        let first = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        let count = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        let code = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        guard frame <= UInt64(Int64.max), count > 0, let outcome = Outcome(rawValue: UInt8(truncatingIfNeeded: code)),
            code <= UInt32(UInt8.max), UInt64(first) + UInt64(count) <= UInt64(UInt32.max)
        else { return nil }
        self.init(frame: Int(frame), first: Int(first), count: Int(count), outcome: outcome)
    }

    func append(to buffer: inout ByteBuffer, seed: UInt64) {
        let start = buffer.count
        buffer.append(littleEndian: UInt64(frame))
        buffer.append(littleEndian: UInt32(first))
        buffer.append(littleEndian: UInt32(count))
        buffer.append(littleEndian: UInt32(outcome.rawValue))
        let checked = UnsafeRawBufferPointer(rebasing: buffer.bytes[start...])
        buffer.append(littleEndian: Checksum.xxh3(checked, seed: seed))
    }
}

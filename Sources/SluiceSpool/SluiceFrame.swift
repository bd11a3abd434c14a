// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Sluice's own skippable frames: magic, size, body, and a checksum over all three.
///
/// ```
/// 0      4      8                  8 + size - 8    8 + size
/// | magic | size | body             | XXH3-64      |
/// ```
/// Integers are little-endian. The body is a line of JSON (header, footer) or fixed binary fields (count frame).
/// `lz4` skips such frames, whatever they hold.
enum SluiceFrame {
    /// The skippable magic number that Sluice uses.
    static let magic: UInt32 = 0x184D_2A5A
    /// The magic number of an LZ4 data frame.
    static let dataMagic: UInt32 = 0x184D_2204
    /// Bytes of magic and size.
    static let prefixBytes = 8
    static let checksumBytes = 8
    /// No frame of Sluice's is larger, whatever its size field says.
    static let maximumBytes = 16 << 10

    /// Appends a frame; `body` writes its body.
    static func append(to output: inout ByteBuffer, body: (inout ByteBuffer) -> Void) {
        let start = output.count
        output.append(littleEndian: magic)
        output.append(littleEndian: UInt32(0))
        body(&output)
        seal(&output, from: start)
    }

    /// Fills in the size of a frame that begins at `start`, and appends the checksum.
    private static func seal(_ output: inout ByteBuffer, from start: Int) {
        var size = UInt32(output.count - start - prefixBytes + checksumBytes).littleEndian
        withUnsafeBytes(of: &size) { output.replace(at: start + 4, with: $0) }
        output.append(littleEndian: Checksum.xxh3(UnsafeRawBufferPointer(rebasing: output.bytes[start...])))
    }

    /// The body of a whole frame that verified.
    static func body(of frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: frame[prefixBytes..<(frame.count - checksumBytes)])
    }

    /// What stands at the beginning of `bytes`.
    enum Finding {
        /// A frame that verifies, `length` bytes in all.
        case verified(kind: Kind, length: Int)
        /// The bytes are the beginning of a frame that goes on behind them.
        case incomplete
        /// No frame, or a damaged one.
        case invalid
    }

    enum Kind {
        case header, commit, footer
        /// Of a later minor version.
        case unknown
    }

    /// Judges `bytes`, which run to the end of the file or hold at least `maximumBytes`.
    static func find(in bytes: UnsafeRawBufferPointer) -> Finding {
        guard bytes.count >= prefixBytes else { return findCut(bytes) }
        guard bytes.u32(at: 0) == magic else { return .invalid }
        let length = prefixBytes + Int(bytes.u32(at: 4))
        guard length >= prefixBytes + checksumBytes, length <= maximumBytes else { return .invalid }
        guard length <= bytes.count else { return findCut(bytes, length: length) }
        let checked = UnsafeRawBufferPointer(rebasing: bytes[..<(length - checksumBytes)])
        guard Checksum.xxh3(checked) == bytes.u64(at: length - checksumBytes) else { return .invalid }
        let body = UnsafeRawBufferPointer(rebasing: checked[prefixBytes...])
        return .verified(kind: kind(of: body, size: length - prefixBytes), length: length)
    }

    private static func kind(of body: UnsafeRawBufferPointer, size: Int) -> Kind {
        if body.starts(with: CommitFrame.tag) { return size == CommitFrame.size ? .commit : .unknown }
        if body.starts(with: SegmentHeader.tag) { return .header }
        if body.starts(with: SegmentFooter.tag) { return .footer }
        return .unknown
    }

    /// Judges fewer than eight bytes at the end of a file.
    private static func findCut(_ bytes: UnsafeRawBufferPointer) -> Finding {
        guard bytes.isPrefix(ofLittleEndian: magic) else { return .invalid }
        let size = bytes.dropFirst(4)
        return size.isEmpty || size.contains { $0 != 0 } ? .incomplete : .invalid
    }

    /// Judges a frame whose size reaches past the end of the file: it is cut off, or its size is wrong.
    private static func findCut(_ bytes: UnsafeRawBufferPointer, length: Int) -> Finding {
        let size = length - prefixBytes
        let body = UnsafeRawBufferPointer(rebasing: bytes[prefixBytes...])
        if body.isEmpty { return .incomplete }
        if size == CommitFrame.size, body.isPrefix(of: CommitFrame.tag) || body.starts(with: CommitFrame.tag) {
            return .incomplete
        }
        // A body of JSON is one line without zeros, and its line feed is the last byte before the checksum.
        guard body[0] == UInt8(ascii: "{") else { return .invalid }
        for (index, byte) in body.enumerated() {
            if byte == UInt8(ascii: "\n") { return index == size - checksumBytes - 1 ? .incomplete : .invalid }
            if byte < 0x20 { return .invalid }
        }
        return body.count < size - checksumBytes ? .incomplete : .invalid
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    func u32(at offset: Int) -> UInt32 {
        UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inline(__always)
    func u64(at offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    func starts(with text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount && isPrefixOrLonger(of: text)
    }

    /// Whether all bytes are the beginning of `text`, and `text` is longer.
    func isPrefix(of text: StaticString) -> Bool {
        count < text.utf8CodeUnitCount && isPrefixOrLonger(of: text)
    }

    private func isPrefixOrLonger(of text: StaticString) -> Bool {
        for index in 0..<Swift.min(count, text.utf8CodeUnitCount) where self[index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// Whether the first bytes, up to four, are those of `value`; false when there are none.
    func isPrefix(ofLittleEndian value: UInt32) -> Bool {
        guard !isEmpty else { return false }
        for index in 0..<Swift.min(count, 4) where self[index] != UInt8(truncatingIfNeeded: value >> (8 * index)) {
            return false
        }
        return true
    }
}

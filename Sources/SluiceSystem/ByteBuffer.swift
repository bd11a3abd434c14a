// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Bytes in one growing block of memory, for hot paths: no reference count, no initialisation, no copy on write.
///
/// At least `padding` bytes behind the content may always be read, as simdjson wants them.
///
/// Public for the compiler alone, which inlines members of public types only into other modules.
public struct ByteBuffer: ~Copyable {
    /// Bytes behind the content that are readable memory, of any value.
    @inlinable package static var padding: Int { 64 }

    @usableFromInline var base: UnsafeMutableRawPointer
    @usableFromInline var used: Int
    @usableFromInline var room: Int

    package init(capacity: Int = 0) {
        room = max(capacity, 64)
        used = 0
        base = Self.allocate(room)
    }

    deinit { free(base) }

    private static func allocate(_ capacity: Int) -> UnsafeMutableRawPointer {
        guard let base = malloc(capacity + padding) else {
            fatalError("out of memory for a buffer of \(capacity) bytes")
        }
        return base
    }

    /// Bytes of content.
    @inlinable package var count: Int { used }

    /// Bytes of content that fit before the block must grow.
    @inlinable package var capacity: Int { room }

    @inlinable package var isEmpty: Bool { used == 0 }

    /// The content; valid until the buffer changes.
    @inlinable package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: used) }

    /// Makes room for `extra` more bytes of content.
    @inlinable
    package mutating func reserve(_ extra: Int) {
        if used + extra > room { grow(used + extra) }
    }

    @usableFromInline @inline(never)
    mutating func grow(_ needed: Int) {
        room = max(needed, room * 2)
        guard let moved = realloc(base, room + Self.padding) else {
            fatalError("out of memory for a buffer of \(room) bytes")
        }
        base = moved
    }

    /// Forgets the content and keeps the memory.
    package mutating func removeAll() { used = 0 }

    /// Cuts the content back to its first `length` bytes.
    package mutating func truncate(to length: Int) {
        precondition(length <= used, "a buffer can only be cut shorter")
        used = length
    }

    /// Drops the first `length` bytes and moves the rest to the front.
    package mutating func removeFirst(_ length: Int) {
        precondition(length >= 0 && length <= used, "a buffer cannot lose more than it holds")
        memmove(base, base + length, used - length)
        used -= length
    }

    /// Gives memory above `limit` bytes back; the content must be shorter.
    package mutating func shrink(to limit: Int) {
        guard room > limit, used <= limit, let moved = realloc(base, limit + Self.padding) else { return }
        base = moved
        room = limit
    }

    @inlinable
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        base.storeBytes(of: byte, toByteOffset: used, as: UInt8.self)
        used += 1
    }

    @inlinable
    package mutating func append(_ source: UnsafeRawBufferPointer) {
        guard let start = source.baseAddress else { return }
        reserve(source.count)
        (base + used).copyMemory(from: start, byteCount: source.count)
        used += source.count
    }

    @inlinable
    package mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    package mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Appends `value` in decimal digits.
    package mutating func append(decimal value: Int) {
        reserve(20)
        used += writeDecimal(value, to: base + used)
    }

    /// Appends a little-endian integer of its own width.
    @inlinable
    package mutating func append<Integer: FixedWidthInteger>(littleEndian value: Integer) {
        let size = MemoryLayout<Integer>.size
        reserve(size)
        base.storeBytes(of: value.littleEndian, toByteOffset: used, as: Integer.self)
        used += size
    }

    /// Lets `body` write up to `limit` bytes behind the content; what it returns becomes content.
    @inlinable
    package mutating func append(
        upTo limit: Int,
        _ body: (UnsafeMutableRawBufferPointer) throws -> Int
    ) rethrows {
        reserve(limit)
        let written = try body(UnsafeMutableRawBufferPointer(start: base + used, count: limit))
        precondition(written <= limit, "wrote past the room that was asked for")
        used += written
    }

    /// Overwrites content that is there already.
    package mutating func replace(at offset: Int, with source: UnsafeRawBufferPointer) {
        precondition(offset >= 0 && offset + source.count <= used, "outside the content")
        if let start = source.baseAddress { (base + offset).copyMemory(from: start, byteCount: source.count) }
    }

    /// Overwrites a range of the content with one byte.
    package mutating func fill(_ range: Range<Int>, with byte: UInt8) {
        precondition(range.lowerBound >= 0 && range.upperBound <= used, "outside the content")
        memset(base + range.lowerBound, Int32(byte), range.count)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Bytes in one growing block of memory, for hot paths: no reference count, no initialisation, no copy on write.
///
/// At least `padding` bytes behind the content may always be read, as simdjson wants them.
package struct ByteBuffer: ~Copyable {
    /// Bytes behind the content that are readable memory, of any value.
    package static let padding = 64

    @usableFromInline package private(set) var base: UnsafeMutableRawPointer
    /// Bytes of content.
    @usableFromInline package private(set) var count: Int
    /// Bytes of content that fit before the block must grow.
    @usableFromInline package private(set) var capacity: Int

    package init(capacity: Int = 0) {
        self.capacity = max(capacity, 64)
        count = 0
        base = Self.allocate(self.capacity)
    }

    deinit { free(base) }

    private static func allocate(_ capacity: Int) -> UnsafeMutableRawPointer {
        guard let base = malloc(capacity + padding) else { fatalError("out of memory for a buffer of \(capacity) bytes") }
        return base
    }

    @inline(__always)
    package var isEmpty: Bool { count == 0 }

    /// The content; valid until the buffer changes.
    @inline(__always)
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Makes room for `extra` more bytes of content.
    @inline(__always)
    package mutating func reserve(_ extra: Int) {
        if count + extra > capacity { grow(count + extra) }
    }

    @inline(never)
    private mutating func grow(_ needed: Int) {
        capacity = max(needed, capacity * 2)
        guard let moved = realloc(base, capacity + Self.padding) else {
            fatalError("out of memory for a buffer of \(capacity) bytes")
        }
        base = moved
    }

    /// Forgets the content and keeps the memory.
    package mutating func removeAll() { count = 0 }

    /// Cuts the content back to its first `length` bytes.
    package mutating func truncate(to length: Int) {
        precondition(length <= count, "a buffer can only be cut shorter")
        count = length
    }

    /// Drops the first `length` bytes and moves the rest to the front.
    package mutating func removeFirst(_ length: Int) {
        precondition(length >= 0 && length <= count, "a buffer cannot lose more than it holds")
        memmove(base, base + length, count - length)
        count -= length
    }

    /// Gives memory above `limit` bytes back; the content must be shorter.
    package mutating func shrink(to limit: Int) {
        guard capacity > limit, count <= limit, let moved = realloc(base, limit + Self.padding) else { return }
        base = moved
        capacity = limit
    }

    @inline(__always)
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inline(__always)
    package mutating func append(_ source: UnsafeRawBufferPointer) {
        guard let start = source.baseAddress else { return }
        reserve(source.count)
        memcpy(base + count, start, source.count)
        count += source.count
    }

    @inline(__always)
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
        var rest = value.magnitude
        if value < 0 { append(UInt8(ascii: "-")) }
        var length = 1
        var limit: UInt = 10
        while rest >= limit {
            length += 1
            let (next, overflow) = limit.multipliedReportingOverflow(by: 10)
            if overflow { break }
            limit = next
        }
        var position = count + length
        repeat {
            position -= 1
            base.storeBytes(of: UInt8(ascii: "0") + UInt8(rest % 10), toByteOffset: position, as: UInt8.self)
            rest /= 10
        } while position > count
        count += length
    }

    /// Appends a little-endian integer of its own width.
    @inline(__always)
    package mutating func append<Integer: FixedWidthInteger>(littleEndian value: Integer) {
        let size = MemoryLayout<Integer>.size
        reserve(size)
        base.storeBytes(of: value.littleEndian, toByteOffset: count, as: Integer.self)
        count += size
    }

    /// Lets `body` write up to `limit` bytes behind the content; what it returns becomes content.
    @inline(__always)
    package mutating func append(
        upTo limit: Int,
        _ body: (UnsafeMutableRawBufferPointer) throws -> Int
    ) rethrows {
        reserve(limit)
        let written = try body(UnsafeMutableRawBufferPointer(start: base + count, count: limit))
        precondition(written <= limit, "wrote past the room that was asked for")
        count += written
    }

    /// Overwrites content that is there already.
    package mutating func replace(at offset: Int, with source: UnsafeRawBufferPointer) {
        precondition(offset >= 0 && offset + source.count <= count, "outside the content")
        if let start = source.baseAddress { memcpy(base + offset, start, source.count) }
    }

    /// Overwrites a range of the content with one byte.
    package mutating func fill(_ range: Range<Int>, with byte: UInt8) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "outside the content")
        memset(base + range.lowerBound, Int32(byte), range.count)
    }
}

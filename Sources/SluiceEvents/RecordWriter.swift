// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON

/// Writes a record into room that was reserved for all of it beforehand.
///
/// Copies go in steps of 16 bytes and so read and write up to 15 bytes past a text's end: sources are token text, which
/// has padding behind it, or texts of an arena, which have it too; the room has `slack` bytes more than the record.
struct RecordWriter {
    /// Bytes of room needed beyond the record.
    static let slack = 64

    private let start: UnsafeMutableRawPointer
    private var cursor: UnsafeMutableRawPointer

    init(_ room: UnsafeMutableRawPointer) {
        start = room
        cursor = room
    }

    var count: Int { cursor - start }

    @inline(__always)
    mutating func literal(_ text: StaticString) {
        cursor.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        cursor += text.utf8CodeUnitCount
    }

    @inline(__always)
    mutating func byte(_ byte: UInt8) {
        cursor.storeBytes(of: byte, as: UInt8.self)
        cursor += 1
    }

    /// Appends a text that has readable bytes behind it.
    @inline(__always)
    mutating func padded(_ text: UnsafeRawBufferPointer) {
        guard let source = text.baseAddress else { return }
        var offset = 0
        while offset < text.count {
            let block = (source + offset).loadUnaligned(as: SIMD16<UInt8>.self)
            (cursor + offset).storeBytes(of: block, as: SIMD16<UInt8>.self)
            offset += 16
        }
        cursor += text.count
    }

    /// Appends a number or string token in canonical form, which its source is unless it is a string with escapes.
    @inline(__always)
    mutating func value(_ document: borrowing JSONDocument, _ token: JSONToken) {
        if token.kind == .string { string(document, token) } else { padded(document.raw(token)) }
    }

    /// Appends a string token as a JSON string.
    @inline(__always)
    mutating func string(_ document: borrowing JSONDocument, _ token: JSONToken) {
        byte(UInt8(ascii: "\""))
        if token.hasEscapes {
            cursor += JSONText.escape(document.text(token), to: cursor)
        } else {
            padded(document.raw(token))
        }
        byte(UInt8(ascii: "\""))
    }

    mutating func decimal(_ value: Int) {
        if value < 0 { byte(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var length = 1
        var bound: UInt = 10
        while rest >= bound {
            length += 1
            let (next, overflow) = bound.multipliedReportingOverflow(by: 10)
            if overflow { break }
            bound = next
        }
        for position in stride(from: length - 1, through: 0, by: -1) {
            (cursor + position).storeBytes(of: UInt8(ascii: "0") + UInt8(rest % 10), as: UInt8.self)
            rest /= 10
        }
        cursor += length
    }
}

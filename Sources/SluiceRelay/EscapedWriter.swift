// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceJSON
internal import SluiceSystem

/// Writes an event's JSON as it stands inside a JSON string: every quote and backslash of it escaped once more.
///
/// The room must be large enough for all that is written; the caller knows its bound.
struct EscapedWriter {
    private let base: UnsafeMutableRawPointer
    private(set) var count = 0
    private var hasMembers = false

    /// - Parameter room: memory that is not empty.
    init(_ room: UnsafeMutableRawBufferPointer) {
        guard let base = room.baseAddress else { preconditionFailure("no room to write into") }
        self.base = base
    }

    @inline(__always)
    private mutating func byte(_ value: UInt8) {
        base.storeBytes(of: value, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    /// Text without quotes and backslashes.
    @inline(__always)
    mutating func literal(_ text: StaticString) {
        memcpy(base + count, text.utf8Start, text.utf8CodeUnitCount)
        count += text.utf8CodeUnitCount
    }

    @inline(__always)
    private mutating func plain(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        memcpy(base + count, start, bytes.count)
        count += bytes.count
    }

    private mutating func escaping(_ bytes: UnsafeRawBufferPointer) {
        for value in bytes {
            if value == UInt8(ascii: "\"") || value == UInt8(ascii: "\\") { byte(UInt8(ascii: "\\")) }
            byte(value)
        }
    }

    @inline(__always)
    private mutating func quote() {
        base.storeBytes(of: UInt16(0x225C).littleEndian, toByteOffset: count, as: UInt16.self)
        count += 2
    }

    @inline(__always)
    private mutating func separator() {
        if hasMembers { byte(UInt8(ascii: ",")) }
        hasMembers = true
    }

    @inline(__always)
    private mutating func text(_ document: JSONDocument, _ token: JSONToken) {
        let bytes = document.raw(token)
        if token.hasEscapes { escaping(bytes) } else { plain(bytes) }
    }

    @inline(__always)
    private mutating func value(_ document: JSONDocument, _ token: JSONToken) {
        if token.kind == .string {
            quote()
            text(document, token)
            quote()
        } else {
            plain(document.raw(token))
        }
    }

    mutating func key(_ name: StaticString) {
        separator()
        quote()
        literal(name)
        quote()
        byte(UInt8(ascii: ":"))
    }

    mutating func member(_ name: StaticString, _ value: Int) {
        key(name)
        count += writeDecimal(value, to: base + count)
    }

    mutating func member(_ document: JSONDocument, _ key: JSONToken, _ token: JSONToken) {
        separator()
        quote()
        text(document, key)
        quote()
        byte(UInt8(ascii: ":"))
        value(document, token)
    }

    mutating func member(_ name: StaticString, _ document: JSONDocument, _ token: JSONToken) {
        key(name)
        value(document, token)
    }

    mutating func experiment(_ document: JSONDocument, _ key: JSONToken, _ token: JSONToken) {
        separator()
        quote()
        literal("experiment_")
        text(document, key)
        quote()
        byte(UInt8(ascii: ":"))
        value(document, token)
    }
}

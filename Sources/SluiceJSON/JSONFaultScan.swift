// SPDX-License-Identifier: Apache-2.0

/// Finds the first fault in bytes that simdjson refused, because simdjson does not say where it is.
///
/// Only refused documents come here, so this is plain rather than fast; it is linear and does not recurse.
struct JSONFaultScan {
    private enum Expectation { case value, valueOrEnd, key, keyOrEnd, separator }

    private let bytes: UnsafeRawBufferPointer
    private let maximumDepth: Int
    private var position = 0

    private init(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    /// Names the fault that made simdjson answer `code`; the offset stays nil when this scan finds nothing wrong.
    static func locate(
        _ code: JSONError.Code,
        in bytes: UnsafeRawBufferPointer,
        maximumDepth: Int
    ) -> JSONError {
        switch code {
        case .tooLarge, .outOfMemory:
            return JSONError(code)
        case .invalidUTF8:
            return JSONError(code, byteOffset: firstInvalidUTF8(in: bytes))
        case .controlCharacter, .unclosedString:
            // simdjson looks for these in the whole document before it looks at any value.
            return JSONError(code, byteOffset: firstStringFault(code, in: bytes))
        default:
            break
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return JSONError(.byteOrderMark, byteOffset: 0) }
        var scan = JSONFaultScan(bytes, maximumDepth: maximumDepth)
        do throws(JSONError) {
            try scan.document()
            return JSONError(code)
        } catch {
            return error
        }
    }

    private mutating func document() throws(JSONError) {
        var containers: [UInt8] = []
        var expectation = Expectation.value
        skipWhiteSpace()
        if position == bytes.count { throw JSONError(.empty, byteOffset: 0) }
        while true {
            skipWhiteSpace()
            guard position < bytes.count else { throw JSONError(.syntax, byteOffset: position) }
            let byte = bytes[position]
            switch (byte, expectation) {
            case (UInt8(ascii: "}"), .keyOrEnd), (UInt8(ascii: "]"), .valueOrEnd):
                containers.removeLast()
                position += 1
                expectation = .separator
            case (UInt8(ascii: "\""), .key), (UInt8(ascii: "\""), .keyOrEnd):
                try string()
                skipWhiteSpace()
                try take(UInt8(ascii: ":"))
                expectation = .value
            case (UInt8(ascii: "{"), .value), (UInt8(ascii: "{"), .valueOrEnd):
                try open(byte, in: &containers)
                expectation = .keyOrEnd
            case (UInt8(ascii: "["), .value), (UInt8(ascii: "["), .valueOrEnd):
                try open(byte, in: &containers)
                expectation = .valueOrEnd
            case (_, .value), (_, .valueOrEnd):
                try scalar(byte)
                expectation = .separator
            case (UInt8(ascii: ","), .separator):
                position += 1
                expectation = containers.last == UInt8(ascii: "{") ? .key : .value
            case (UInt8(ascii: "}"), .separator) where containers.last == UInt8(ascii: "{"),
                (UInt8(ascii: "]"), .separator) where containers.last == UInt8(ascii: "["):
                containers.removeLast()
                position += 1
            default:
                throw JSONError(.syntax, byteOffset: position)
            }
            if expectation == .separator && containers.isEmpty { break }
        }
        skipWhiteSpace()
        if position < bytes.count { throw JSONError(.trailingBytes, byteOffset: position) }
    }

    private mutating func open(_ bracket: UInt8, in containers: inout [UInt8]) throws(JSONError) {
        if containers.count == maximumDepth { throw JSONError(.tooDeep, byteOffset: position) }
        containers.append(bracket)
        position += 1
    }

    private mutating func scalar(_ byte: UInt8) throws(JSONError) {
        switch byte {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        default: throw JSONError(.syntax, byteOffset: position)
        }
    }

    private mutating func skipWhiteSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private mutating func take(_ byte: UInt8) throws(JSONError) {
        guard position < bytes.count, bytes[position] == byte else { throw JSONError(.syntax, byteOffset: position) }
        position += 1
    }

    private mutating func word(_ text: String) throws(JSONError) {
        guard bytes[position...].starts(with: text.utf8) else { throw JSONError(.syntax, byteOffset: position) }
        position += text.utf8.count
    }

    private mutating func number() throws(JSONError) {
        guard let (end, isWhole) = JSONNumber.extent(in: bytes, from: position),
            JSONNumber.fits(UnsafeRawBufferPointer(rebasing: bytes[position..<end]), isWhole: isWhole)
        else { throw JSONError(.invalidNumber, byteOffset: position) }
        position = end
    }

    private mutating func string() throws(JSONError) {
        let start = position
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"):
                try escape()
            case ..<0x20:
                throw JSONError(.controlCharacter, byteOffset: position)
            default:
                position += 1
            }
        }
        throw JSONError(.unclosedString, byteOffset: start)
    }

    private mutating func escape() throws(JSONError) {
        let start = position
        guard position + 1 < bytes.count else { throw JSONError(.invalidString, byteOffset: start) }
        let letter = bytes[position + 1]
        position += 2
        guard letter == UInt8(ascii: "u") else {
            guard "\"\\/bfnrt".utf8.contains(letter) else { throw JSONError(.invalidString, byteOffset: start) }
            return
        }
        let unit = hexadecimal()
        guard let unit, !(0xDC00...0xDFFF).contains(unit) else { throw JSONError(.invalidString, byteOffset: start) }
        guard (0xD800...0xDBFF).contains(unit) else { return }
        guard bytes[position...].starts(with: "\\u".utf8) else { throw JSONError(.invalidString, byteOffset: start) }
        position += 2
        guard let low = hexadecimal(), (0xDC00...0xDFFF).contains(low) else {
            throw JSONError(.invalidString, byteOffset: start)
        }
    }

    private mutating func hexadecimal() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        let text = bytes[position..<position + 4]
        position += 4
        guard text.allSatisfy({ isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0 | 0x20) }) else {
            return nil
        }
        return UInt32(String(decoding: text, as: UTF8.self), radix: 16)
    }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func firstStringFault(_ code: JSONError.Code, in bytes: UnsafeRawBufferPointer) -> Int? {
        var opened: Int?
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                opened = opened == nil ? position : nil
            } else if byte == UInt8(ascii: "\\") {
                // To simdjson a backslash escapes what follows, outside strings too, but for a control character.
                if position + 1 < bytes.count, bytes[position + 1] >= 0x20 { position += 1 }
            } else if opened != nil, byte < 0x20, code == .controlCharacter {
                return position
            }
            position += 1
        }
        return code == .unclosedString ? opened : nil
    }

    private static func firstInvalidUTF8(in bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position < bytes.count {
            let lead = bytes[position]
            let length: Int
            // The second byte's range shuts out overlong forms, surrogates and everything above U+10FFFF.
            var second: ClosedRange<UInt8> = 0x80...0xBF
            switch lead {
            case 0x00...0x7F: length = 1
            case 0xC2...0xDF: length = 2
            case 0xE0...0xEF:
                length = 3
                if lead == 0xE0 { second = 0xA0...0xBF }
                if lead == 0xED { second = 0x80...0x9F }
            case 0xF0...0xF4:
                length = 4
                if lead == 0xF0 { second = 0x90...0xBF }
                if lead == 0xF4 { second = 0x80...0x8F }
            default: return position
            }
            guard position + length <= bytes.count else { return position }
            if length > 1, !second.contains(bytes[position + 1]) { return position }
            for index in 0..<max(0, length - 2) where bytes[position + 2 + index] & 0xC0 != 0x80 { return position }
            position += length
        }
        return nil
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Reads JSON5 from front to back.
struct JSON5Reader {
    private static let maximumDepth = 64

    /// Where the reader is.
    private struct Place {
        var position = 0
        var line = 1
        var lineStart = 0
    }

    private let text: [UInt8]
    private var place = Place()
    private var position: Int {
        get { place.position }
        set { place.position = newValue }
    }
    private var line: Int { place.line }

    init(_ text: [UInt8]) {
        self.text = text
    }

    mutating func document() throws(JSON5Error) -> JSON5 {
        guard String(validating: text, as: UTF8.self) != nil else { throw failure("the text is not UTF-8") }
        let value = try self.value(depth: 0)
        try skipBlanks()
        guard position == text.count else { throw failure("something follows the end of the value") }
        return value
    }

    // MARK: - Values

    private mutating func value(depth: Int) throws(JSON5Error) -> JSON5 {
        guard depth < Self.maximumDepth else { throw failure("more than \(Self.maximumDepth) levels") }
        try skipBlanks()
        let start = line
        guard let byte = peek() else { throw failure("the text ends where a value is expected") }
        switch byte {
        case UInt8(ascii: "{"): return JSON5(value: .object(try members(depth: depth)), line: start)
        case UInt8(ascii: "["): return JSON5(value: .array(try elements(depth: depth)), line: start)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return JSON5(value: .string(try string()), line: start)
        case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return JSON5(value: try number(), line: start)
        default:
            let start = place
            switch String(decoding: word(), as: UTF8.self) {
            case "true": return JSON5(value: .boolean(true), line: start.line)
            case "false": return JSON5(value: .boolean(false), line: start.line)
            case "null": return JSON5(value: .null, line: start.line)
            case "Infinity", "NaN": throw failure("a number must be finite", at: start)
            default: throw failure("a value is expected: a string stands in quotes", at: start)
            }
        }
    }

    private mutating func members(depth: Int) throws(JSON5Error) -> [JSON5.Member] {
        position += 1
        var members: [JSON5.Member] = []
        var keys: Set<[UInt8]> = []
        while true {
            try skipBlanks()
            if take(UInt8(ascii: "}")) { return members }
            let start = place
            let key = try self.key()
            if !keys.insert(Array(key.utf8)).inserted { throw failure("the key \(key) stands twice", at: start) }
            try skipBlanks()
            guard take(UInt8(ascii: ":")) else { throw failure("a colon is expected after the key \(key)") }
            members.append(JSON5.Member(key: key, line: start.line, value: try value(depth: depth + 1)))
            try skipBlanks()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "}")) else { throw failure("a comma or } is expected after the value of \(key)") }
            return members
        }
    }

    private mutating func elements(depth: Int) throws(JSON5Error) -> [JSON5] {
        position += 1
        var elements: [JSON5] = []
        while true {
            try skipBlanks()
            if take(UInt8(ascii: "]")) { return elements }
            elements.append(try value(depth: depth + 1))
            try skipBlanks()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "]")) else { throw failure("a comma or ] is expected after an element") }
            return elements
        }
    }

    private mutating func key() throws(JSON5Error) -> String {
        if peek() == UInt8(ascii: "\"") || peek() == UInt8(ascii: "'") { return try string() }
        let word = self.word()
        guard let first = word.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            throw failure("a key is expected: a name, or a string in quotes")
        }
        return String(decoding: word, as: UTF8.self)
    }

    /// The letters, digits, `_`, `$` and characters outside ASCII that stand here.
    private mutating func word() -> ArraySlice<UInt8> {
        let start = position
        while let byte = peek(), blankLength == 0 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
                position += 1
            default: return text[start..<position]
            }
        }
        return text[start..<position]
    }

    // MARK: - Numbers

    private mutating func number() throws(JSON5Error) -> JSON5.Value {
        let start = place
        while let byte = peek(), Self.mayBeInNumber(byte) { position += 1 }
        var digits = text[start.position..<position]
        var isNegative = false
        if let sign = digits.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
            isNegative = sign == UInt8(ascii: "-")
            digits.removeFirst()
        }
        let spelling = String(decoding: digits, as: UTF8.self)
        let sign = isNegative ? "-" : ""
        if spelling.hasPrefix("0x") || spelling.hasPrefix("0X") {
            let hexadecimal = spelling.dropFirst(2)
            if hexadecimal.utf8.first?.isHexadecimal == true, let value = Int("\(sign)\(hexadecimal)", radix: 16) {
                return .integer(value)
            }
        } else if Self.isDecimal(digits) {
            if let value = Int(sign + spelling) { return .integer(value) }
            let isWhole = digits.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            if !isWhole, let value = Double(sign + Self.filled(spelling)), value.isFinite { return .number(value) }
        }
        throw failure("this is no number, or one out of range", at: start)
    }

    private static func mayBeInNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Digits with at most one point and one exponent, at least one digit before the exponent, no leading zero.
    private static func isDecimal(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        func digits() -> Int {
            let count = rest.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }.count
            rest.removeFirst(count)
            return count
        }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        if startsWithZero && whole > 1 { return false }
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = digits()
        }
        guard whole + fraction > 0 else { return false }
        if let byte = rest.first, byte | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest.removeFirst() }
            guard digits() > 0 else { return false }
        }
        return rest.isEmpty
    }

    /// The spelling with a digit on both sides of its point, as Swift wants it.
    private static func filled(_ spelling: String) -> String {
        guard let point = spelling.firstIndex(of: ".") else { return spelling }
        let tail = spelling[spelling.index(after: point)...]
        let fraction = tail.utf8.first.map { $0 | 0x20 == UInt8(ascii: "e") } ?? true ? "0\(tail)" : "\(tail)"
        return "0\(spelling[..<point]).\(fraction)"
    }

    // MARK: - Strings

    private mutating func string() throws(JSON5Error) -> String {
        let quote = text[position]
        let start = place
        position += 1
        var bytes: [UInt8] = []
        while let byte = peek() {
            switch byte {
            case quote:
                position += 1
                return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &bytes)
            case 0x0A, 0x0D: throw failure("a string ends on the line it begins on")
            default:
                bytes.append(byte)
                position += 1
            }
        }
        throw failure("this string has no end", at: start)
    }

    private mutating func escape(into bytes: inout [UInt8]) throws(JSON5Error) {
        position += 1
        guard let byte = peek() else { throw failure("the text ends in an escape") }
        position += 1
        switch byte {
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "v"): bytes.append(0x0B)
        case UInt8(ascii: "0"):
            if let next = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) {
                throw failure("\\0 may not be followed by a digit")
            }
            bytes.append(0)
        case UInt8(ascii: "1")...UInt8(ascii: "9"): throw failure("\\ may not be followed by a digit")
        case UInt8(ascii: "x"): append(UInt32(try hexadecimal(2)), to: &bytes)
        case UInt8(ascii: "u"): try unicodeEscape(into: &bytes)
        default:
            position -= 1
            if takeLineEnd() { return }
            position += 1
            bytes.append(byte)
        }
    }

    private mutating func unicodeEscape(into bytes: inout [UInt8]) throws(JSON5Error) {
        let first = try hexadecimal(4)
        if (0xD800..<0xDC00).contains(first), position + 1 < text.count, text[position] == UInt8(ascii: "\\"),
            text[position + 1] == UInt8(ascii: "u")
        {
            position += 2
            let second = try hexadecimal(4)
            if (0xDC00..<0xE000).contains(second) {
                append(UInt32(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)), to: &bytes)
                return
            }
        }
        guard !(0xD800..<0xE000).contains(first) else { throw failure("half a surrogate pair is no character") }
        append(UInt32(first), to: &bytes)
    }

    private mutating func hexadecimal(_ count: Int) throws(JSON5Error) -> Int {
        guard position + count <= text.count, text[position..<position + count].allSatisfy(\.isHexadecimal),
            let value = Int(String(decoding: text[position..<position + count], as: UTF8.self), radix: 16)
        else { throw failure("\(count) hexadecimal digits are expected") }
        position += count
        return value
    }

    private func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
        guard let scalar = Unicode.Scalar(scalar), let encoded = UTF8.encode(scalar) else { return }
        bytes += encoded
    }

    // MARK: - Between the values

    private mutating func skipBlanks() throws(JSON5Error) {
        while let byte = peek() {
            if takeLineEnd() { continue }
            let length = blankLength
            if length > 0 {
                position += length
            } else if byte == UInt8(ascii: "/"), position + 1 < text.count, text[position + 1] == UInt8(ascii: "/") {
                while peek() != nil, lineEndLength == 0 { position += 1 }
            } else if byte == UInt8(ascii: "/"), position + 1 < text.count, text[position + 1] == UInt8(ascii: "*") {
                try skipComment()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(JSON5Error) {
        let start = place
        position += 2
        while let byte = peek() {
            if takeLineEnd() { continue }
            position += 1
            if byte == UInt8(ascii: "*") && take(UInt8(ascii: "/")) { return }
        }
        throw failure("this comment has no end", at: start)
    }

    /// Bytes of the end of a line that stands here; the specification knows U+2028 and U+2029 too.
    private var lineEndLength: Int {
        switch text[position] {
        case 0x0A: return 1
        case 0x0D: return follows([0x0A]) ? 2 : 1
        case 0xE2: return follows([0x80, 0xA8]) || follows([0x80, 0xA9]) ? 3 : 0
        default: return 0
        }
    }

    private mutating func takeLineEnd() -> Bool {
        guard position < text.count, lineEndLength > 0 else { return false }
        position += lineEndLength
        place.line += 1
        place.lineStart = position
        return true
    }

    /// Bytes of the blank that stands here: JSON's, and the ones that JSON5 adds.
    private var blankLength: Int {
        switch text[position] {
        case 0x09...0x0D, 0x20: return 1
        case 0xC2: return follows([0xA0]) ? 2 : 0
        case 0xE1: return follows([0x9A, 0x80]) ? 3 : 0
        case 0xE2: return follows([0x80, 0xA8]) || follows([0x80, 0xA9]) ? 3 : 0
        case 0xE3: return follows([0x80, 0x80]) ? 3 : 0
        case 0xEF: return follows([0xBB, 0xBF]) ? 3 : 0
        default: return 0
        }
    }

    private func follows(_ bytes: [UInt8]) -> Bool { text[(position + 1)...].starts(with: bytes) }

    private func peek() -> UInt8? { position < text.count ? text[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    private func failure(_ reason: String, at place: Place? = nil) -> JSON5Error {
        let place = place ?? self.place
        return JSON5Error(line: place.line, column: place.position - place.lineStart + 1, reason: reason)
    }
}

extension UInt8 {
    fileprivate var isHexadecimal: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}

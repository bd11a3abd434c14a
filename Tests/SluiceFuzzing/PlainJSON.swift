// SPDX-License-Identifier: Apache-2.0

/// JSON by RFC 8259, read as plainly as it can be: what the product's own readers and writers are compared with.
///
/// Numbers are what the product keeps: whole ones inside Int64 or UInt64, others finite as a double.
indirect enum PlainJSON: Equatable {
    case null
    case boolean(Bool)
    /// Its text.
    case number([UInt8])
    /// Unescaped UTF-8.
    case string([UInt8])
    case array([PlainJSON])
    case object([Member])

    struct Member: Equatable {
        var key: [UInt8]
        var value: PlainJSON
    }

    /// Reads a whole document; nil when it is none.
    init?(_ bytes: some Sequence<UInt8>, maximumDepth: Int = 64) {
        let bytes = Array(bytes)
        guard String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var reader = PlainJSONReader(bytes, maximumDepth: maximumDepth)
        guard let value = reader.document() else { return nil }
        self = value
    }

    init?(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int = 64) {
        self.init(Array(bytes), maximumDepth: maximumDepth)
    }

    var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    var elements: [PlainJSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    var text: [UInt8]? {
        if case .string(let text) = self { text } else { nil }
    }

    var integer: Int? {
        if case .number(let text) = self { Int(String(decoding: text, as: UTF8.self)) } else { nil }
    }

    var isScalar: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }

    /// The value in JSON, without blanks.
    var written: [UInt8] {
        switch self {
        case .null: Array("null".utf8)
        case .boolean(let value): Array("\(value)".utf8)
        case .number(let text): text
        case .string(let text): Self.quoted(text)
        case .array(let elements): Self.list("[", elements.map(\.written), "]")
        case .object(let members):
            Self.list("{", members.map { Self.quoted($0.key) + Array(":".utf8) + $0.value.written }, "}")
        }
    }

    private static func list(_ opening: String, _ parts: [[UInt8]], _ closing: String) -> [UInt8] {
        Array(opening.utf8) + Array(parts.joined(separator: Array(",".utf8))) + Array(closing.utf8)
    }

    private static func quoted(_ text: [UInt8]) -> [UInt8] {
        var result = Array("\"".utf8)
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += [UInt8(ascii: "\\"), byte]
            case ..<0x20: result += Array("\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8)
            default: result.append(byte)
            }
        }
        return result + Array("\"".utf8)
    }

    /// The value of the first member of that name.
    subscript(name: String) -> PlainJSON? { members?.first { $0.key.elementsEqual(name.utf8) }?.value }

    /// Whether a key stands twice in this object or in any inside.
    var hasTwins: Bool {
        switch self {
        case .array(let elements): elements.contains(where: \.hasTwins)
        case .object(let members):
            Set(members.map(\.key)).count < members.count || members.contains(where: \.value.hasTwins)
        default: false
        }
    }
}

private struct PlainJSONReader {
    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var position = 0

    init(_ bytes: [UInt8], maximumDepth: Int) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    mutating func document() -> PlainJSON? {
        guard let value = value(depth: 0) else { return nil }
        skipBlanks()
        return position == bytes.count ? value : nil
    }

    private mutating func value(depth: Int) -> PlainJSON? {
        skipBlanks()
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "{"): return depth < maximumDepth ? object(depth: depth + 1) : nil
        case UInt8(ascii: "["): return depth < maximumDepth ? array(depth: depth + 1) : nil
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "t"): return take("true") ? .boolean(true) : nil
        case UInt8(ascii: "f"): return take("false") ? .boolean(false) : nil
        case UInt8(ascii: "n"): return take("null") ? .null : nil
        default: return number().map { .number($0) }
        }
    }

    private mutating func object(depth: Int) -> PlainJSON? {
        position += 1
        var members: [PlainJSON.Member] = []
        skipBlanks()
        if take("}") { return .object(members) }
        while true {
            skipBlanks()
            guard let key = string() else { return nil }
            skipBlanks()
            guard take(":"), let value = value(depth: depth) else { return nil }
            members.append(PlainJSON.Member(key: key, value: value))
            skipBlanks()
            if take("}") { return .object(members) }
            guard take(",") else { return nil }
        }
    }

    private mutating func array(depth: Int) -> PlainJSON? {
        position += 1
        var elements: [PlainJSON] = []
        skipBlanks()
        if take("]") { return .array(elements) }
        while true {
            guard let value = value(depth: depth) else { return nil }
            elements.append(value)
            skipBlanks()
            if take("]") { return .array(elements) }
            guard take(",") else { return nil }
        }
    }

    private mutating func string() -> [UInt8]? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                text += Array(String(Character(scalar)).utf8)
            case ..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard position < bytes.count else { return nil }
        let letter = bytes[position]
        position += 1
        switch letter {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "u"):
            guard let first = unit() else { return nil }
            guard (0xD800..<0xDC00).contains(first) else { return Unicode.Scalar(first) }
            guard take("\\u"), let second = unit(), (0xDC00..<0xE000).contains(second) else { return nil }
            return Unicode.Scalar(0x10000 + (first - 0xD800) * 0x400 + (second - 0xDC00))
        default: return nil
        }
    }

    private mutating func unit() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        var value: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else { return nil }
            value = value * 16 + UInt32(digit)
        }
        position += 4
        return value
    }

    private mutating func number() -> [UInt8]? {
        let start = position
        _ = take("-")
        let isZero = take("0")
        guard isZero || digits() else { return nil }
        var isWhole = true
        if take(".") {
            isWhole = false
            guard digits() else { return nil }
        }
        if take("e") || take("E") {
            isWhole = false
            if !take("+") { _ = take("-") }
            guard digits() else { return nil }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        let isKept = isWhole ? UInt64(text) != nil || Int64(text) != nil : Double(text)?.isFinite == true
        return isKept ? Array(text.utf8) : nil
    }

    private mutating func digits() -> Bool {
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            position += 1
        }
        return position > start
    }

    private mutating func take(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private mutating func skipBlanks() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }
}

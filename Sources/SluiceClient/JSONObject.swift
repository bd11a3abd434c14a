// SPDX-License-Identifier: Apache-2.0

/// A JSON object that is written member by member, in the caller's order.
package struct JSONObject: Sendable {
    private var text: [UInt8] = [UInt8(ascii: "{")]

    package init() { text.reserveCapacity(512) }

    /// The object so far, closed.
    package var bytes: [UInt8] { text + [UInt8(ascii: "}")] }

    package mutating func add(_ name: String, _ value: String) {
        begin(name)
        append(value)
    }

    package mutating func add(_ name: String, _ value: Int) {
        begin(name)
        text += String(value).utf8
    }

    package mutating func add(_ name: String, _ value: JSONObject) {
        begin(name)
        text += value.text
        text.append(UInt8(ascii: "}"))
    }

    /// Adds a value that can be written, see `EnvelopeRules.isWritable`.
    package mutating func add(_ name: String, _ value: SluiceValue) {
        switch value {
        case .string(let string): add(name, string)
        case .integer(let number): add(name, number)
        case .number(let number):
            begin(name)
            text += (NumberText.text(number) ?? "null").utf8
        case .bool(let isTrue):
            begin(name)
            text += (isTrue ? "true" : "false").utf8
        }
    }

    /// Adds a list of values that are JSON already.
    package mutating func add(_ name: String, json values: [[UInt8]]) {
        begin(name)
        text.reserveCapacity(text.count + values.reduce(2) { $0 + $1.count + 1 })
        text.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += value
        }
        text.append(UInt8(ascii: "]"))
    }

    private mutating func begin(_ name: String) {
        if text.count > 1 { text.append(UInt8(ascii: ",")) }
        append(name)
        text.append(UInt8(ascii: ":"))
    }

    private mutating func append(_ string: String) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
            case 0x08: text += "\\b".utf8
            case 0x09: text += "\\t".utf8
            case 0x0A: text += "\\n".utf8
            case 0x0C: text += "\\f".utf8
            case 0x0D: text += "\\r".utf8
            case 0..<0x20: text += "\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}

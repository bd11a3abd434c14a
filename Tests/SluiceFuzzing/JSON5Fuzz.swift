// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON

/// Whatever is JSON is JSON5 and means the same, faults have a place, and what was read can be written and read again.
final class JSON5Fuzz {
    func check(_ input: UnsafeRawBufferPointer) throws {
        let text = Array(input)
        let plain = PlainJSON(text)
        switch Result(catching: { () throws(JSON5Error) in try JSON5(parsing: text) }) {
        case .success(let value):
            if let plain { try compare(value, plain) }
            let written = Self.plain(value).written
            let again = try need(PlainJSON(written), "\(String(decoding: written, as: UTF8.self)) is no JSON")
            try compare(value, again)
            try checkLines(value, text)
        case .failure(let error):
            try hold(error.line >= 1 && error.column >= 1, "a fault in line \(error.line), column \(error.column)")
            try hold(error.line + error.column <= text.count + 2, "a fault behind the end")
            try hold(!error.reason.isEmpty, "a fault without a reason")
            guard let plain, Self.isTaken(plain) else { return }
            throw FuzzFinding("JSON, and refused as JSON5: \(error)")
        }
    }

    /// Whether a JSON document has no key twice and no number out of range.
    private static func isTaken(_ plain: PlainJSON) -> Bool {
        switch plain {
        case .number(let text):
            let isWhole = !text.contains { ".eE".utf8.contains($0) }
            return !isWhole || Int(String(decoding: text, as: UTF8.self)) != nil
        case .array(let elements): return elements.allSatisfy(isTaken)
        case .object(let members):
            return Set(members.map(\.key)).count == members.count && members.allSatisfy { isTaken($0.value) }
        default: return true
        }
    }

    private func compare(_ value: JSON5, _ plain: PlainJSON) throws {
        switch (value.value, plain) {
        case (.null, .null): return
        case (.boolean(let left), .boolean(let right)): try hold(left == right, "another truth")
        case (.integer(let left), .number(let right)):
            try hold(left == Int(String(decoding: right, as: UTF8.self)), "\(left) for another number")
        case (.number(let left), .number(let right)):
            try hold(left == Double(String(decoding: right, as: UTF8.self)), "\(left) for another number")
        case (.string(let left), .string(let right)): try hold(left.utf8.elementsEqual(right), "another text")
        case (.array(let left), .array(let right)):
            try hold(left.count == right.count, "another number of elements")
            for (left, right) in zip(left, right) { try compare(left, right) }
        case (.object(let left), .object(let right)):
            try hold(left.count == right.count, "another number of members")
            for (left, right) in zip(left, right) {
                try hold(left.key.utf8.elementsEqual(right.key), "another key")
                try compare(left.value, right.value)
            }
        default: throw FuzzFinding("\(value.kindName) where something else stands")
        }
    }

    private func checkLines(_ value: JSON5, _ text: [UInt8]) throws {
        // Line feeds, carriage returns and the two separators of Unicode end lines.
        let most = 1 + text.count { [0x0A, 0x0D, 0xE2].contains($0) }
        try hold((1...most).contains(value.line), "a value in line \(value.line)")
        switch value.value {
        case .array(let elements): for element in elements { try checkLines(element, text) }
        case .object(let members): for member in members { try checkLines(member.value, text) }
        default: return
        }
    }

    /// The value as JSON.
    static func plain(_ value: JSON5) -> PlainJSON {
        switch value.value {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .integer(let value): .number(Array("\(value)".utf8))
        case .number(let value): .number(Array("\(value)".utf8))
        case .string(let text): .string(Array(text.utf8))
        case .array(let elements): .array(elements.map(plain))
        case .object(let members): .object(members.map { .init(key: Array($0.key.utf8), value: plain($0.value)) })
        }
    }
}

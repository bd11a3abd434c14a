// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// A JSON value that is written once, with its members in the order they were given; for documents, not for events.
indirect enum JSONNode: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    case string(String)
    case integer(Int)
    case number(Double)
    case boolean(Bool)
    case array([JSONNode])
    case object([(String, JSONNode)])

    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .boolean(value) }
    init(arrayLiteral elements: JSONNode...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSONNode)...) { self = .object(elements) }

    /// The text, indented by two blanks a level.
    var text: String {
        var buffer = ByteBuffer()
        write(to: &buffer, indent: 0)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private func write(to buffer: inout ByteBuffer, indent: Int) {
        switch self {
        case .string(let value): buffer.append(jsonString: value)
        case .integer(let value): buffer.append(decimal: value)
        case .number(let value):
            // Whole numbers without a point, as people write them in a contract.
            if let whole = Int(exactly: value) { buffer.append(decimal: whole) } else { buffer.append("\(value)") }
        case .boolean(let value): buffer.append(value ? "true" as StaticString : "false")
        case .array(let elements):
            Self.write(elements.count, "[", "]", indent, to: &buffer) { index, buffer in
                elements[index].write(to: &buffer, indent: indent + 1)
            }
        case .object(let members):
            Self.write(members.count, "{", "}", indent, to: &buffer) { index, buffer in
                buffer.append(jsonString: members[index].0)
                buffer.append(": ")
                members[index].1.write(to: &buffer, indent: indent + 1)
            }
        }
    }

    private static func write(
        _ count: Int,
        _ opening: StaticString,
        _ closing: StaticString,
        _ indent: Int,
        to buffer: inout ByteBuffer,
        element: (Int, inout ByteBuffer) -> Void
    ) {
        buffer.append(opening)
        for index in 0..<count {
            buffer.append(index == 0 ? "\n" as StaticString : ",\n")
            buffer.append(String(repeating: "  ", count: indent + 1))
            element(index, &buffer)
        }
        if count > 0 {
            buffer.append("\n")
            buffer.append(String(repeating: "  ", count: indent))
        }
        buffer.append(closing)
    }
}

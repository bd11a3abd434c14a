// SPDX-License-Identifier: Apache-2.0
import SluiceJSON
import SluiceSystem
import Testing

/// A value of a vector: numbers keep their text, strings and names compare as bytes, the order of members is none.
indirect enum VectorValue: Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([VectorValue])
    case object([(name: String, value: VectorValue)])

    /// Reads one JSON document.
    init(_ text: some Sequence<UInt8>) throws {
        var buffer = ByteBuffer()
        buffer.append(Array(text))
        let document = try JSONParser(maximumBytes: 4 << 20).parse(buffer.bytes)
        self.init(document, 0)
    }

    private init(_ document: JSONDocument, _ index: Int) {
        let token = document[index]
        switch token.kind {
        case .object:
            self = .object(
                document.members(of: index).map {
                    (document.string(document[$0.key]), VectorValue(document, $0.value))
                }
            )
        case .array: self = .array(document.elements(of: index).map { VectorValue(document, $0) })
        case .string: self = .string(document.string(token))
        case .null: self = .null
        default:
            let raw = String(decoding: document.raw(token), as: UTF8.self)
            self = token.isBoolean ? .bool(raw == "true") : .number(raw)
        }
    }

    /// A member of an object; nil when it is absent or null.
    subscript(name: String) -> VectorValue? {
        guard let value = members.first(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value else { return nil }
        if case .null = value { return nil }
        return value
    }

    var members: [(name: String, value: VectorValue)] {
        if case .object(let members) = self { members } else { [] }
    }

    var elements: [VectorValue] {
        if case .array(let elements) = self { elements } else { [] }
    }

    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var integer: Int? {
        if case .number(let text) = self { Int(text) } else { nil }
    }

    var isTrue: Bool {
        if case .bool(let isTrue) = self { isTrue } else { false }
    }

    /// Its elements that are texts.
    var texts: [String] { elements.compactMap(\.text) }

    /// Its members that are texts.
    var textsByName: [(name: String, text: String)] {
        members.compactMap { member in member.value.text.map { (member.name, $0) } }
    }

    /// The same object without some members.
    func without(_ names: String...) -> VectorValue {
        .object(members.filter { member in !names.contains(member.name) })
    }

    func require(_ name: String) throws -> VectorValue { try #require(self[name], "\(name) is missing") }
    func text(_ name: String) throws -> String { try #require(self[name]?.text, "\(name) is no text") }
    func integer(_ name: String) throws -> Int { try #require(self[name]?.integer, "\(name) is no whole number") }
}

extension VectorValue: Equatable {
    static func == (left: VectorValue, right: VectorValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left.utf8.elementsEqual(right.utf8)
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)):
            left.count == right.count
                && zip(sorted(left), sorted(right)).allSatisfy {
                    $0.name.utf8.elementsEqual($1.name.utf8) && $0.value == $1.value
                }
        default: false
        }
    }

    private static func sorted(
        _ members: [(name: String, value: VectorValue)]
    ) -> [(name: String, value: VectorValue)] {
        members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}

/// The files of `Tests/Conformance`.
enum Vectors {
    static let folder = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
        return parts.joined(separator: "/") + "/Conformance"
    }()

    /// The lines of a file.
    static func lines(_ name: String) throws -> [VectorValue] {
        try bytes(name).split(separator: UInt8(ascii: "\n")).map { try VectorValue($0) }
    }

    static func bytes(_ name: String) throws -> [UInt8] {
        try FileSystem.contents(of: "\(folder)/\(name)", limit: 4 << 20)
    }
}

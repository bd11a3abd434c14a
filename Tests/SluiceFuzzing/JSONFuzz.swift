// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// The parser takes what RFC 8259 allows and the product keeps, gives it back exactly, and says where a fault is.
final class JSONFuzz {
    private let parser = JSONParser(maximumBytes: 1 << 16)
    private let second = JSONParser(maximumBytes: 1 << 16)

    func check(_ input: UnsafeRawBufferPointer) throws {
        let text = ByteBuffer(copying: input)
        let plain = PlainJSON(input)
        switch Result(catching: { () throws(JSONError) in try parser.parse(text.bytes) }) {
        case .success(let document):
            let plain = try need(plain, "taken, and it is no JSON")
            try hold(Int(document[0].next) == document.count, "the root does not span all tokens")
            try compare(document, 0, plain)
            try checkIsolation(document)
        case .failure(let error):
            try hold(plain == nil, "refused as \(error), and it is JSON")
            if input.isEmpty { return }
            let offset = try need(error.byteOffset, "refused as \(error), and nobody finds the fault")
            try hold((0...input.count).contains(offset), "the fault's place is outside the document")
        }
    }

    // MARK: - Tokens

    private func compare(_ document: JSONDocument, _ index: Int, _ plain: PlainJSON) throws {
        let token = document[index]
        let raw = document.raw(token)
        switch (token.kind, plain) {
        case (.null, .null): try hold(raw.asText == "null", "null's extent")
        case (.true, .boolean(true)): try hold(raw.asText == "true", "true's extent")
        case (.false, .boolean(false)): try hold(raw.asText == "false", "false's extent")
        case (.integer, .number(let text)), (.number, .number(let text)): try compareNumber(document, token, text)
        case (.string, .string(let text)): try compareText(document, token, text)
        case (.array, .array(let elements)):
            try hold(raw.first == UInt8(ascii: "[") && raw.last == UInt8(ascii: "]"), "a list's extent")
            var count = 0
            for element in document.elements(of: index) {
                try hold(count < elements.count, "a list with too many elements")
                try compare(document, element, elements[count])
                count += 1
            }
            try hold(count == elements.count, "a list with too few elements")
        case (.object, .object(let members)):
            try hold(raw.first == UInt8(ascii: "{") && raw.last == UInt8(ascii: "}"), "an object's extent")
            var count = 0
            for member in document.members(of: index) {
                try hold(count < members.count, "an object with too many members")
                try compareText(document, document[member.key], members[count].key)
                try compare(document, member.value, members[count].value)
                count += 1
            }
            try hold(count == members.count, "an object with too few members")
        default: throw FuzzFinding("\(token.kind) where \(plain) stands")
        }
    }

    private func compareNumber(_ document: JSONDocument, _ token: JSONToken, _ text: [UInt8]) throws {
        let raw = document.raw(token)
        let spelling = String(decoding: text, as: UTF8.self)
        try hold(raw.elementsEqual(text), "a number's extent: \(raw.asText) for \(spelling)")
        let isWhole = text.allSatisfy {
            $0 == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        try hold((token.kind == .integer) == isWhole, "\(spelling) is of the wrong kind")
        try hold(document.integer(token) == (isWhole ? Int(spelling) : nil), "\(spelling) as a whole number")
        try hold(document.double(token) == Double(spelling), "\(spelling) as a double")
        try hold(JSONNumber.isKept(raw), "\(spelling) is kept in a document and not alone")
    }

    private func compareText(_ document: JSONDocument, _ token: JSONToken, _ text: [UInt8]) throws {
        try hold(token.kind == .string, "a key is no string")
        let raw = document.raw(token)
        try hold(document.text(token).elementsEqual(text), "a string's text")
        try hold(token.hasEscapes == raw.contains(UInt8(ascii: "\\")), "whether a string has escapes")
        try hold(raw.baseAddress.map { ($0 - 1).load(as: UInt8.self) } == UInt8(ascii: "\""), "a string's start")
        var written = ByteBuffer()
        written.append(jsonString: document.text(token))
        let again = try? second.parse(written.bytes)  // none is a finding
        try hold(again.map { $0.text($0[0]).elementsEqual(text) } == true, "a string does not survive its escaping")
        try hold(written.count <= 6 * text.count + 2, "an escaped string is too long")
    }

    // MARK: - Isolation

    /// The elements that the scan finds in a good document are those of its list.
    private func checkIsolation(_ document: JSONDocument) throws {
        let lists = document.members(of: 0).filter { document.text(document[$0.key], equals: "events") }
        guard lists.count == 1, !document[lists[0].key].hasEscapes else { return }
        let list = lists[0].value
        let parts = JSONIsolation(of: "events", in: document.source, maximumElements: 1 << 20)
        guard document[list].kind == .array else {
            try hold(parts.elements.isEmpty, "elements of something that is no list")
            return
        }
        let ranges = document.elements(of: list).map { element in
            let token = document[element]
            let quotes = token.kind == .string ? 1 : 0
            return Int(token.start) - quotes..<Int(token.start) + Int(token.length) + quotes
        }
        try hold(parts.elements == ranges, "the elements stand elsewhere")
        let outline = try? second.parse(parts.outline.bytes)  // none is a finding
        let count = outline.flatMap { outline in
            outline.value(of: "events", in: 0).map { list in outline.elements(of: list).reduce(0) { n, _ in n + 1 } }
        }
        try hold(count == ranges.count, "the outline has another number of elements")
    }
}

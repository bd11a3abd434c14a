// SPDX-License-Identifier: Apache-2.0
import SluiceJSON
import SluiceSystem
import Testing

struct JSONParserTests {
    private let parser = JSONParser(maximumBytes: 1 << 20)

    private func parsing<Result>(_ text: String, _ body: (JSONDocument) throws -> Result) throws -> Result {
        var buffer = ByteBuffer()
        buffer.append(text)
        return try body(try parser.parse(buffer.bytes))
    }

    private func raw(_ document: JSONDocument, _ index: Int) -> String {
        String(decoding: document.raw(document[index]), as: UTF8.self)
    }

    @Test func `tokens name exact source extents, white space or not`() throws {
        try parsing("\n { \"a\" : [ 1 , \"x\" ] ,\t\"b\":{ } , \"c\" : -0 , \"d\":true } \r\n") { document in
            #expect(document.count == 11)
            #expect(raw(document, 0).hasPrefix("{ \"a\"") && raw(document, 0).hasSuffix("true }"))
            #expect(document[0].next == 11)
            #expect(raw(document, 2) == "[ 1 , \"x\" ]")
            #expect(document[2].next == 5)
            #expect(raw(document, 3) == "1")
            #expect(raw(document, 4) == "x")
            #expect(raw(document, 6) == "{ }")
            #expect(document[6].next == 7)
            #expect(raw(document, 8) == "-0")
            #expect(document[8].kind == .integer)
            #expect(document[9].kind == .string)
        }
    }

    @Test func `a document may be one scalar`() throws {
        try parsing(" \"a\\\"\" ") { document in
            #expect(document.count == 1)
            #expect(raw(document, 0) == "a\\\"")
            #expect(document.string(document[0]) == "a\"")
            #expect(document[0].hasEscapes)
        }
        try parsing("12.50") { #expect(raw($0, 0) == "12.50" && $0[0].kind == .number) }
        try parsing(" null") { #expect(raw($0, 0) == "null" && $0[0].kind == .null) }
    }

    @Test(arguments: [
        ("9007199254740993", JSONToken.Kind.integer), ("18446744073709551615", .integer),
        ("-9223372036854775808", .integer),
        ("0.30000000000000004", .number), ("1.0", .number), ("1E5", .number), ("-0.0", .number), ("5e-324", .number),
    ])
    func `numbers keep their source text`(text: String, kind: JSONToken.Kind) throws {
        try parsing("{\"n\":\(text) }") { document in
            #expect(raw(document, 2) == text)
            #expect(document[2].kind == kind)
        }
    }

    @Test func `whole numbers come as Int only when they fit`() throws {
        try parsing("[9223372036854775807,-9223372036854775808,9223372036854775808,1.0,-0,42]") { document in
            let values = document.elements(of: 0).map { document.integer(document[$0]) }
            #expect(values == [.max, .min, nil, nil, 0, 42])
        }
    }

    @Test func `unescaped text needs no copy and escapes are known`() throws {
        try parsing(#"{"plain":"größe","esc\u0061ped":"\ud83d\ude00\n\u0000"}"#) { document in
            #expect(!document[1].hasEscapes && !document[2].hasEscapes)
            #expect(document[3].hasEscapes && document[4].hasEscapes)
            #expect(document.string(document[2]) == "größe")
            #expect(document.string(document[3]) == "escaped")
            #expect(document.string(document[4]) == "\u{1F600}\n\u{0}")
            #expect(document.text(document[4]).count == 6)
        }
    }

    @Test func `duplicate keys stay visible and the first one is found`() throws {
        try parsing(#"{"a":1,"b":{"a":5},"a":2}"#) { document in
            let keys = document.members(of: 0).map { document.string(document[$0.key]) }
            #expect(keys == ["a", "b", "a"])
            let first = try #require(document.value(of: "a", in: 0))
            #expect(raw(document, first) == "1")
            #expect(document.value(of: "c", in: 0) == nil)
            #expect(document.value(of: "a", in: first) == nil)
        }
    }

    @Test func `keys compare by bytes, not by canonical equivalence`() throws {
        try parsing("{\"\u{65}\u{301}\":1}") { document in
            #expect(document.value(of: "\u{e9}", in: 0) == nil)
            #expect(document.value(of: "\u{65}\u{301}", in: 0) == 2)
        }
    }

    @Test(arguments: [
        ("", JSONError.Code.empty), ("  ", .empty), ("[1,]", .syntax), ("{\"a\":18446744073709551616}", .invalidNumber),
        ("[1e400]", .invalidNumber), ("[01]", .invalidNumber), ("[\"\\ud800\"]", .invalidString),
        ("[\"\\x\"]", .invalidString), ("[\"a\nb\"]", .controlCharacter), ("[\"a]", .unclosedString),
    ])
    func `what is not JSON is refused with a code`(text: String, code: JSONError.Code) throws {
        #expect { try parsing(text) { _ in } } throws: { ($0 as? JSONError)?.code == code }
    }

    @Test(arguments: [[0xC3, 0x28], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x98], [0xFF]] as [[UInt8]])
    func `bytes that are not UTF-8 are refused in keys and values`(bad: [UInt8]) {
        for (front, back) in [("{\"", "\":1}"), ("{\"a\":\"", "\"}")] {
            var buffer = ByteBuffer()
            buffer.append(front)
            buffer.append(bad)
            buffer.append(back)
            #expect { _ = try parser.parse(buffer.bytes) } throws: { ($0 as? JSONError)?.code == .invalidUTF8 }
        }
    }

    @Test func `the depth limit is exact`() throws {
        let shallow = JSONParser(maximumBytes: 4096, maximumDepth: 8)
        for depth in 1...20 {
            var buffer = ByteBuffer()
            buffer.append(String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
            if depth <= 8 {
                #expect(try shallow.parse(buffer.bytes).count == depth)
            } else {
                #expect { _ = try shallow.parse(buffer.bytes) } throws: { ($0 as? JSONError)?.code == .tooDeep }
            }
        }
    }

    @Test func `the size limit is exact`() throws {
        let small = JSONParser(maximumBytes: 100)
        var buffer = ByteBuffer()
        buffer.append("\"" + String(repeating: "x", count: 98) + "\"")
        #expect(try small.parse(buffer.bytes).count == 1)
        buffer.append(" ")
        #expect { _ = try small.parse(buffer.bytes) } throws: { ($0 as? JSONError)?.code == .tooLarge }
    }

    @Test func `what stands in the padding makes no difference`() throws {
        for tail in ["", "]]]]]]]]]]]]", "\"\"\"\"\"\"", "99999999999", "\\\\\\\\"] {
            var buffer = ByteBuffer()
            buffer.append("[\"a\",12]")
            let length = buffer.count
            buffer.append(tail)
            let document = try parser.parse(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<length]))
            #expect(document.count == 3)
            #expect(raw(document, 2) == "12")
        }
        var number = ByteBuffer()
        number.append("123456")
        #expect(raw(try parser.parse(UnsafeRawBufferPointer(rebasing: number.bytes[..<3])), 0) == "123")
    }

    @Test func `one parser serves large and small documents in turn`() throws {
        let large = "[" + (0..<50_000).map { "{\"n\":\($0)}" }.joined(separator: ",") + "]"
        for _ in 0..<2 {
            try parsing(large) { document in
                #expect(document.count == 1 + 3 * 50_000)
                let last = try #require(document.elements(of: 0).reversed().first)
                #expect(raw(document, last) == "{\"n\":49999}")
            }
            try parsing("{}") { #expect($0.count == 1) }
        }
    }
}

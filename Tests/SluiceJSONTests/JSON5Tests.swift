// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import SluiceJSON
import Testing

struct JSON5Tests {
    private func parse(_ text: String) throws(JSON5Error) -> JSON5 { try JSON5(parsing: Array(text.utf8)) }

    /// The value in the spelling of strict JSON, members in their order.
    private func plain(_ json: JSON5) -> String {
        switch json.value {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .string(let value): value.debugDescription
        case .array(let elements): "[\(elements.map(plain).joined(separator: ","))]"
        case .object(let members): "{\(members.map { "\($0.key):\(plain($0.value))" }.joined(separator: ","))}"
        }
    }

    @Test(arguments: [
        ("{}", "{}"), (" [ ] // end", "[]"), ("{a:1,'b':2,\"c\":3,}", "{a:1,b:2,c:3}"), ("[1,2,]", "[1,2]"),
        ("/* a\n * b */{$_ü1:/**/null}", "{$_ü1:null}"),
        ("[+1,-2,.5,5.,0x1F,-0xff,1e3,1.5E-2,0]", "[1,-2,0.5,5.0,31,-255,1000.0,0.015,0]"),
        (#"'it\'s "x" \x41\u00e9\uD83D\uDE00\v\0'"#, #""it\'s \"x\" Aé😀\u{0B}\0""#), ("'a\\\nb\\\r\nc'", "\"abc\""),
        ("\u{FEFF}\u{A0}\u{2028}true\u{3000}", "true"), (#""\q""#, "\"q\""),
        ("9223372036854775807", "9223372036854775807"), ("1 // a\u{2028}", "1"),
        ("{a:1 // a\u{2029}, b:2}", "{a:1,b:2}"),
        ("'a\\\u{2028}b'", "\"ab\""),
    ])
    func `what the specification allows is read`(text: String, value: String) throws {
        #expect(plain(try parse(text)) == value)
    }

    @Test(arguments: [
        ("", 1, 1), ("{", 1, 2), ("{a}", 1, 3), ("{\n  a: 1\n  b: 2\n}", 3, 3), ("{a:1,,}", 1, 6), ("[1 2]", 1, 4),
        ("[,]", 1, 2),
        ("{a:\n tru }", 2, 2), ("{a:1} x", 1, 7), ("'a\nb'", 1, 3), ("\n'abc", 2, 1), ("/* ", 1, 1), ("01", 1, 1),
        ("1.2.3", 1, 1),
        ("0x", 1, 1), ("0x-1", 1, 1), ("1e", 1, 1), ("- 1", 1, 1), (".", 1, 1), ("1_000", 1, 1), ("Infinity", 1, 1),
        ("NaN", 1, 1),
        ("1e999", 1, 1), ("9223372036854775808", 1, 1), (#"'\u12'"#, 1, 4), (#"'\uD800'"#, 1, 8), (#"'\01'"#, 1, 4),
        ("{1a:2}", 1, 4),
        ("{a:1,\n\n\"a\":2}", 3, 1), ("{a:1,\n 'a\\\n':2}", 2, 2), ("{a:\n  'b\\\nc", 2, 3), ("[\r/*\n", 2, 1),
        ("[\u{2029}x", 2, 1), ("\u{1}", 1, 1),
    ])
    func `a fault is told with its place`(text: String, line: Int, column: Int) throws {
        let error = #expect(throws: JSON5Error.self) { try parse(text) }
        #expect(error?.line == line)
        #expect(error?.column == column, "\(text.debugDescription): \(error?.description ?? "")")
    }

    @Test func `keys that only look alike are two keys`() throws {
        #expect(plain(try parse("{caf\u{E9}: 1, cafe\u{301}: 2}")) == "{caf\u{E9}:1,cafe\u{301}:2}")
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: JSON5Error.self) { try JSON5(parsing: [0x22, 0xC3, 0x28, 0x22]) }
    }

    @Test func `depth is bounded`() throws {
        #expect(throws: Never.self) { try parse(String(repeating: "[", count: 64) + String(repeating: "]", count: 64)) }
        #expect(throws: JSON5Error.self) { try parse(String(repeating: "[", count: 100_000)) }
    }

    @Test func `lines are those of keys and values`() throws {
        guard case .object(let members) = try parse("{\r\n a: 1, // x\n\n b:\n  [],\r c: 2,/*\r\r\n*/ d: '\\\r'}").value
        else {
            Issue.record("no object")
            return
        }
        #expect(members.map(\.line) == [2, 4, 6, 8])
        #expect(members.map(\.value.line) == [2, 5, 6, 8])
    }

    @Test(arguments: UInt64(1)...200)
    func `random texts are read as Foundation reads them, or refused with it`(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "a", "b2", "'x'", "\"y\"", "1", "-2", ".5", "0x1f", "1e2", "true", "null",
            " ", "\n",
            "// c\n", "/*d*/", "{a:", "'k':", "[1,", "}]",
        ]
        for _ in 0..<200 {
            let text = (0..<Int.random(in: 1...8, using: &random)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &random)]
            }.joined()
            let ours = try? parse(text)
            let decoder = JSONDecoder()
            decoder.allowsJSON5 = true
            let theirs = try? decoder.decode(Tree.self, from: Data(text.utf8))
            if let ours, let theirs {
                #expect(sorted(ours) == theirs.text, "seed \(seed): \(text)")
            } else if ours != nil {
                Issue.record("seed \(seed): only ours reads \(text.debugDescription)")
            }
        }
    }

    private func sorted(_ json: JSON5) -> String {
        switch json.value {
        case .array(let elements): "[\(elements.map(sorted).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\($0.key):\(sorted($0.value))" }.sorted().joined(separator: ","))}"
        case .number(let value): Int(exactly: value).map { "\($0)" } ?? "\(value)"
        default: plain(json)
        }
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Any JSON value as Foundation decodes it.
private struct Tree: Decodable {
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    var text: String

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Key.self) {
            let members = try container.allKeys.map {
                "\($0.stringValue):\(try container.decode(Tree.self, forKey: $0).text)"
            }
            text = "{\(members.sorted().joined(separator: ","))}"
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [String] = []
            while !container.isAtEnd { elements.append(try container.decode(Tree.self).text) }
            text = "[\(elements.joined(separator: ","))]"
        } else {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                text = "null"
            } else if let value = try? container.decode(Bool.self) {
                text = "\(value)"
            } else if let value = try? container.decode(Int.self) {
                text = "\(value)"
            } else if let value = try? container.decode(Double.self) {
                text = "\(value)"
            } else {
                text = try container.decode(String.self).debugDescription
            }
        }
    }
}

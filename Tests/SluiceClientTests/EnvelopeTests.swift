// SPDX-License-Identifier: Apache-2.0
import SluiceClient
import Testing

struct EnvelopeTests {
    private func envelope(_ properties: [String: SluiceValue] = [:]) -> Envelope {
        Envelope(
            event: "report_exported",
            eventID: "e-1",
            occurredAt: 1_785_081_600,
            anonymousID: "anon-1",
            userID: nil,
            sessionID: "ses-1",
            sequence: 3,
            appVersion: "4.8.0",
            buildNumber: "842",
            platform: "ios",
            schemaVersion: 1,
            properties: properties
        )
    }

    private func text(_ properties: [String: SluiceValue]) -> String {
        let text = String(decoding: envelope(properties).encoded().bytes, as: UTF8.self)
        return String(text.drop { $0 != "{" }.split(separator: "\"properties\":")[1].prefix { $0 != "}" } + "}")
    }

    @Test func `keys stand in ASCII order, and what is absent is left out`() {
        var envelope = envelope(["row_count": 18420, "report_type": "retention"])
        #expect(
            String(decoding: envelope.encoded().bytes, as: UTF8.self)
                == #"{"anonymous_id":"anon-1","app_version":"4.8.0","build_number":"842","event":"report_exported","#
                + #""event_id":"e-1","occurred_at":1785081600,"platform":"ios","properties":{"report_type":"retention","#
                + #""row_count":18420},"schema_version":1,"sequence":3,"session_id":"ses-1"}"#
        )
        envelope.userID = "usr_42"
        envelope.experiments = ["new_export": "b", "a": "1"]
        envelope.properties = [:]
        #expect(
            String(decoding: envelope.encoded().bytes, as: UTF8.self)
                == #"{"anonymous_id":"anon-1","app_version":"4.8.0","build_number":"842","event":"report_exported","#
                + #""event_id":"e-1","experiments":{"a":"1","new_export":"b"},"occurred_at":1785081600,"platform":"ios","#
                + #""properties":{},"schema_version":1,"sequence":3,"session_id":"ses-1","user_id":"usr_42"}"#
        )
    }

    @Test func `strings escape what they must and nothing else`() {
        #expect(text(["a": "\u{8}\t\n\u{c}\r\u{1}\u{1f}\"\\/"]) == #"{"a":"\b\t\n\f\r\u0001\u001f\"\\/"}"#)
        #expect(text(["a": "\u{7f}\u{2028}e\u{301}é😀"]) == "{\"a\":\"\u{7f}\u{2028}e\u{301}é😀\"}")
        #expect(Array(text(["a": "e\u{301}"]).utf8).count == Array(#"{"a":"é"}"#.utf8).count + 1)
    }

    @Test func `properties that cannot be written are left out and named, and the event stays`() {
        let properties: [String: SluiceValue] = [
            "good": true, "nan": .number(.nan), "infinite": .number(-.infinity), "big": .integer(9_007_199_254_740_992),
            "nul": "a\u{0}b", "Upper": 1, "": 1, "9a": 1, "é": 1,
        ]
        let (bytes, malformed) = envelope(properties).encoded()
        #expect(String(decoding: bytes, as: UTF8.self).contains(#""properties":{"good":true}"#))
        #expect(Set(malformed) == Set(properties.keys).subtracting(["good"]))
        #expect(text(["big": .integer(9_007_199_254_740_991)]) == #"{"big":9007199254740991}"#)
    }

    @Test(arguments: [
        ("0", "0"), ("-0.0", "0"), ("1", "1"), ("-1.5", "-1.5"), ("0.1", "0.1"), ("100", "100"), ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"), ("123456789012345680000", "123456789012345680000"), ("1e-6", "0.000001"),
        ("1e-7", "1e-7"), ("1.5e-7", "1.5e-7"), ("-1.25e-9", "-1.25e-9"), ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"), ("9007199254740992", "9007199254740992"),
        ("9007199254740993", "9007199254740992"), ("0.000001234", "0.000001234"), ("123.456", "123.456"),
        ("1e16", "10000000000000000"), ("2.2250738585072014e-308", "2.2250738585072014e-308"),
        ("0.30000000000000004", "0.30000000000000004"), ("4.35", "4.35"),
    ])
    func `numbers look as in JavaScript`(source: String, text: String) throws {
        #expect(NumberText.text(try #require(Double(source))) == text)
    }

    @Test func `numbers read back as themselves`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let number = Double(bitPattern: generator.next())
            guard number.isFinite else { continue }
            #expect(NumberText.text(number).flatMap { Double($0) } == number)
        }
    }

    @Test func `ids are UUIDs of version 4 in lower case`() {
        #expect(EventID.text(0, 0) == "00000000-0000-4000-8000-000000000000")
        #expect(EventID.text(.max, .max) == "ffffffff-ffff-4fff-bfff-ffffffffffff")
        #expect(EventID.text(0x0123_4567_89AB_CDEF, 0x0123_4567_89AB_CDEF) == "01234567-89ab-4def-8123-456789abcdef")
    }

    @Test func `names and identifiers are what the endpoint takes`() {
        for name in ["a", "report_exported", "a1_", String(repeating: "a", count: 64)] {
            #expect(EnvelopeRules.isName(name))
        }
        for name in ["", "_a", "1a", "A", "a-b", "a b", "é", String(repeating: "a", count: 65)] {
            #expect(!EnvelopeRules.isName(name))
        }
        for id in ["usr_42", "é", String(repeating: "é", count: 100)] { #expect(EnvelopeRules.isIdentifier(id)) }
        for id in ["", "a@b", "a\nb", String(repeating: "a", count: 101)] { #expect(!EnvelopeRules.isIdentifier(id)) }
    }
}

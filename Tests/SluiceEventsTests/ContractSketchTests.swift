// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceSystem
import Testing

struct ContractSketchTests {
    private static func envelope(
        _ event: String = "seen",
        _ properties: String = "{}",
        version: Int? = 1,
        platform: String? = "ios",
        rest: String = #","anonymous_id":"a","session_id":"s","app_version":"1","build_number":"1""#
    ) -> String {
        let version = version.map { #","schema_version":\#($0)"# } ?? ""
        let platform = platform.map { #","platform":"\#($0)""# } ?? ""
        return #"{"event":"\#(event)","event_id":"e","occurred_at":1796000000,"properties":\#(properties)"#
            + "\(version)\(platform)\(rest)}"
    }

    private func draft(_ samples: [String], maximumChoices: Int = 10) -> String {
        var sketch = ContractSketch(maximumChoices: maximumChoices)
        var buffer = ByteBuffer()
        for sample in samples {
            buffer.removeAll()
            buffer.append(sample)
            sketch.add(buffer.bytes)
        }
        return sketch.draft
    }

    /// The draft's line for the property `p` of samples with these values, and whether it takes them all.
    private func line(_ values: [String], maximumChoices: Int = 10) throws -> String {
        let samples = values.map { Self.envelope("seen", $0.isEmpty ? "{}" : #"{"p":\#($0)}"#) }
        let draft = draft(samples, maximumChoices: maximumChoices)
        try expectTaken(samples, by: draft)
        let line = draft.split(separator: "\n").first { $0.contains(" p: ") }
        return line.map { String($0.drop { $0 == " " }) } ?? ""
    }

    private func expectTaken(_ samples: [String], by draft: String) throws {
        let contract = try Contract(parsing: Array(draft.utf8), file: "draft")
        let admission = Admission(receivedAt: 1_796_000_000, collection: "c", clock: .off, isServer: true)
        for sample in samples {
            let judged = Judged(Array(sample.utf8), by: contract, under: admission, asLine: true)
            #expect(judged.refusal == nil && judged.codes == [nil], "\(sample)\n\(draft)")
        }
    }

    @Test(arguments: [
        (["\"x\"", "\"yy\""], "p: { type: \"string\", max_length: 10, required: true },"),
        (["\"x\"", ""], "p: { type: \"string\", max_length: 10 }, // in 1 of 2"),
        (["1", "2.5"], "p: { type: \"number\", min: 0, required: true }, // 1 to 2.5"),
        (["-1", "7"], "p: { type: \"number\", required: true }, // -1 to 7"),
        (["true", "false"], "p: { type: \"boolean\", required: true },"),
        (
            ["1", "\"2\""],
            "p: { type: \"number\", accept_numeric_string: true, min: 0, required: true }, // 1 of 2 are numbers in quotes; 1 to 2"
        ),
        (
            ["\"1\"", "\"2\""],
            "p: { type: \"string\", max_length: 10, required: true }, // all are numbers in quotes; for numbers: "
                + "type: \"number\", accept_numeric_string: true"
        ),
        (["1", "\"x\""], "// p: 1 string, 1 number: only one type can be listed"),
        (["1", "true"], "// p: 1 number, 1 boolean: only one type can be listed"),
        (["\"a@example.org\"", "\"x\""], "// p: 1 of 2 look like e-mail addresses"),
        (["\"a\\u0000\""], "// p: some values hold NUL characters"),
    ])
    func `a property`(values: [String], line: String) throws {
        // What holds a NUL is refused only where it is listed.
        #expect(try self.line(values) == line)
    }

    @Test func `what no property may be is left out, and such samples lose it`() {
        let draft = draft([Self.envelope("seen", #"{"p":null,"q":{"a":1},"r":[1]}"#)])
        #expect(draft.contains("// p: 1 null: a property is a string, a number or a boolean, or left out\n"))
        #expect(draft.contains("// q: 1 object or list: a property"))
    }

    @Test func `a few texts that come again and again are a closed set`() throws {
        let values = (0..<30).map { ["\"b\"", "\"a\"", "\"c\""][$0 % 3] }
        #expect(try line(values) == #"p: { type: "string", one_of: ["a", "b", "c"], required: true },"#)
        #expect(try line(Array(values.prefix(12))).contains("max_length: 10"), "too few samples")
        #expect(try line(values, maximumChoices: 2).contains("max_length: 10"))
        #expect(try line(values, maximumChoices: 0).contains("max_length: 10"))
        #expect(try line(Array(repeating: "\"always\"", count: 50)).contains("max_length: 20"))
    }

    @Test func `a property that came with a later version is required from there on`() throws {
        let samples = [
            Self.envelope("seen", "{}"), Self.envelope("seen", #"{"p":"x"}"#, version: 2),
            Self.envelope("seen", #"{"p":"x"}"#, version: 3),
        ]
        let draft = draft(samples)
        try expectTaken(samples, by: draft)
        #expect(draft.contains("schema_versions: { min: 1, max: 3 }, // 1: 1 events, 2: 1 events, 3: 1 events\n"))
        #expect(draft.contains(#"p: { type: "string", max_length: 10, schema_versions: { min: 2 }, required: true },"#))
    }

    @Test func `what some samples leave out gets a default`() throws {
        let samples = [
            Self.envelope(version: 2, platform: "android"), Self.envelope(version: nil, platform: "android"),
            Self.envelope(version: 2, platform: nil), Self.envelope(version: 1, platform: "ios"),
        ]
        let draft = draft(samples)
        try expectTaken(samples, by: draft)
        #expect(
            draft.contains(
                #"defaults: { "*": { platform: "android", schema_version: 2 } }, // 1 events have no platform, 1 events have no schema_version"#
            )
        )
        try expectTaken(
            [Self.envelope(version: nil, platform: nil)],
            by: self.draft([
                Self.envelope(version: nil, platform: nil)
            ])
        )
    }

    @Test func `events without an app's fields are a server's`() throws {
        let samples = [Self.envelope("paid", rest: ""), Self.envelope("sold", platform: "server"), Self.envelope()]
        let draft = draft(samples)
        try expectTaken(samples, by: draft)
        #expect(draft.components(of: "source: \"server\"") == 2)
    }

    @Test func `experiments are listed, bodies are taken apart`() throws {
        let event = Self.envelope().dropLast() + #","experiments":{"new_export":"b","old":"x"}}"#
        let body = #"{"events":[\#(event),\#(Self.envelope("other"))]}"#
        let draft = draft([body])
        try expectTaken([String(event), Self.envelope("other")], by: draft)
        #expect(draft.contains("experiments: [\"new_export\", \"old\"],\n"))
        #expect(draft.contains("// A draft from 2 sample events"))
    }

    @Test func `names that need quotes get them, and those that nobody may list stand as comments`() throws {
        let properties = #"{"a b":"x","0x":"x","caf\u00e9":"x","user_id":"x","experiment_q":"x","a\"b":"x"}"#
        let samples = [Self.envelope(#"ev\"ent"#, properties), Self.envelope("e'v")]
        let draft = draft(samples)
        try expectTaken(samples, by: draft)
        #expect(draft.contains(#"    "ev\"ent": {"#))
        #expect(draft.contains("// user_id: the name is taken"))
        #expect(draft.contains("// experiment_q: the name is taken"))
        let cafes = [Self.envelope("caf\u{E9}"), Self.envelope("cafe\u{301}")]
        try expectTaken(cafes, by: self.draft(cafes))
        #expect(self.draft(cafes).components(of: "// 1 sample\n") == 2)
    }

    @Test func `broken and nameless samples are passed over`() throws {
        let draft = draft(["{", "[]", "7", #"{"event":7}"#, #"{"events":[1,null]}"#, Self.envelope()])
        #expect(try Contract(parsing: Array(draft.utf8), file: "draft").eventNames == ["seen"])
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        var (count, rest) = (0, self[...])
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}

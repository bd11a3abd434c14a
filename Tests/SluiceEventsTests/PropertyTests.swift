// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import Testing

struct PropertyTests {
    private static let contract = """
        {
          contract_version: "p", schema_versions: { min: 1, max: 3 }, experiments: ["new_export", "layout"],
          common_properties: { locale: { type: "string", max_length: 5 }, note: { type: "boolean" } },
          events: {
            screen_view: {
              properties: {
                kind: { type: "string", one_of: ["retention", "a@b.example"], required: true },
                rows: { type: "number", min: 0, max: 10, accept_numeric_string: true },
                level: { type: "number", one_of: [1, 2.5] },
                plain: { type: "number" },
                ok: { type: "boolean" },
                note: { type: "string" },
                format: { type: "string", schema_versions: { min: 2 } },
                size: [
                  { type: "string", schema_versions: { max: 1 } },
                  { type: "number", schema_versions: { min: 2 }, required: true },
                ],
              },
            },
          },
        }
        """

    private func judge(_ properties: String, version: Int = 1, experiments: String? = nil) throws -> Judged {
        let envelope = Envelope([
            "properties": properties, "schema_version": "\(version)", "experiments": experiments,
        ])
        return Judged(envelope.body, by: try Contract(Self.contract))
    }

    @Test(
        arguments: [
            (#"{"kind":"retention"}"#, nil, ""), (#"{}"#, "invalid_property", "kind"),
            (#"{"kind":"Retention"}"#, "invalid_property", "kind"), (#"{"kind":7}"#, "invalid_property", "kind"),
            (#"{"kind":"a@b.example"}"#, nil, ""),
            (#"{"kind":"retention","rows":0}"#, nil, ""),
            (#"{"kind":"retention","rows":-1}"#, "invalid_property", "rows"),
            (#"{"kind":"retention","rows":10.0}"#, nil, ""),
            (#"{"kind":"retention","rows":10.5}"#, "invalid_property", "rows"),
            (#"{"kind":"retention","rows":18446744073709551615}"#, "invalid_property", "rows"),
            (#"{"kind":"retention","rows":true}"#, "invalid_property", "rows"),
            (#"{"kind":"retention","level":2.5}"#, nil, ""), (#"{"kind":"retention","level":1e0}"#, nil, ""),
            (#"{"kind":"retention","level":2}"#, "invalid_property", "level"),
            (#"{"kind":"retention","plain":"1"}"#, "invalid_property", "plain"),
            (#"{"kind":"retention","plain":null}"#, "invalid_property", "plain"),
            (#"{"kind":"retention","ok":1}"#, "invalid_property", "ok"),
            (#"{"kind":"retention","ok":"true"}"#, "invalid_property", "ok"),
            (#"{"kind":"retention","locale":"de_AT"}"#, nil, ""),
            (#"{"kind":"retention","locale":"ééééé"}"#, nil, ""),
            (#"{"kind":"retention","locale":"de_AT2"}"#, "invalid_property", "locale"),
            (#"{"kind":"retention","note":"the event's own rule wins"}"#, nil, ""),
            (#"{"kind":"retention","note":true}"#, "invalid_property", "note"),
            (#"{"kind":"retention","note":"a\u0000b"}"#, "invalid_property", "note"),
        ] as [(String, String?, String)]
    )
    func `a listed property keeps its rule or rejects the event by name`(
        properties: String,
        code: String?,
        name: String
    ) throws {
        let judged = try judge(properties)
        #expect(judged.codes == [code])
        #expect(judged.events.first?.detail == name)
    }

    @Test(arguments: [
        (#""7""#, "7"), (#""0.50""#, "0.50"), (#""1e1""#, "1e1"), (#""\u0037""#, "7"), (#""-0""#, "-0"),
    ])
    func `a numeric string becomes the number with the same text`(json: String, number: String) throws {
        let judged = try judge("{\"kind\":\"retention\",\"rows\":\(json)}")
        #expect(judged.codes == [nil])
        #expect(judged.properties() == "{\"kind\":\"retention\",\"rows\":\(number)}")
    }

    @Test(arguments: [
        "", " 7", "7 ", "+7", "07", "0x7", "7.", ".7", "1e", "1e400", "NaN", "Infinity", "7a", "٧", "-1", "11",
        "123456789012345678901234567890",
    ])
    func `a string that is no JSON number inside the range is refused`(text: String) throws {
        #expect(try judge("{\"kind\":\"retention\",\"rows\":\"\(text)\"}").codes == ["invalid_property"])
    }

    @Test func `rules may differ by schema version`() throws {
        let first = try judge(#"{"kind":"retention","size":"big","format":"csv"}"#, version: 1)
        #expect(first.events == [.init(outcome: .accepted, id: "e-1", removed: ["format"], event: 0)])
        #expect(first.properties() == #"{"kind":"retention","size":"big"}"#)
        let second = try judge(#"{"kind":"retention","size":3,"format":"csv"}"#, version: 2)
        #expect(second.properties() == #"{"format":"csv","kind":"retention","size":3}"#)
        #expect(try judge(#"{"kind":"retention","size":"big"}"#, version: 3).events.first?.detail == "size")
        #expect(try judge(#"{"kind":"retention"}"#, version: 2).events.first?.detail == "size")
    }

    @Test func `properties are stored by name, whatever order they came in`() throws {
        let one = try judge(#"{"plain":1,"ok":true,"kind":"retention","locale":"de"}"#)
        let other = try judge(#"{"locale":"de","kind":"retention","ok":true,"plain":1}"#)
        #expect(one.records == other.records)
        #expect(one.properties() == #"{"kind":"retention","locale":"de","ok":true,"plain":1}"#)
    }

    @Test func `unlisted properties are removed and named, of whatever type`() throws {
        let judged = try judge(#"{"kind":"retention","x":{"a":[1]},"y":null,"Kind":1}"#)
        #expect(judged.events.first?.removed == ["x", "y", "Kind"])
        #expect(judged.properties() == #"{"kind":"retention"}"#)
    }

    @Test func `a contract and an event can reject unlisted properties`() throws {
        func contract(_ all: String, _ own: String) throws -> Contract {
            try Contract(
                """
                {contract_version: "1", schema_versions: {min: 1, max: 1}, unlisted_properties: "\(all)",
                 events: {screen_view: {unlisted_properties: "\(own)", properties: {screen: {type: "string"}}}}}
                """
            )
        }
        let body = Envelope(["properties": #"{"screen":"a","x":1}"#]).body
        let judged = Judged(body, by: try contract("remove", "reject"))
        #expect(
            judged.events == [.init(outcome: .rejected, code: "unlisted_property", id: "e-1", detail: "x", event: 0)]
        )
        #expect(Judged(body, by: try contract("reject", "remove")).codes == [nil])
    }

    @Test(arguments: ["token", "api_key", "collection"])
    func `a secret's name among the properties is an incident unless the contract lists it`(name: String) throws {
        let properties = "{\"screen\":\"a\",\"\(name)\":\"x\"}"
        let judged = Judged(Envelope(["properties": properties]).body, by: try Inputs.contract())
        #expect(
            judged.events == [.init(outcome: .rejected, code: "forbidden_field", id: "e-1", detail: name, event: 0)]
        )
        let listing = try Contract(
            """
            {contract_version: "1", schema_versions: {min: 1, max: 1},
             events: {screen_view: {properties: {screen: {type: "string"}, \(name): {type: "string"}}}}}
            """
        )
        #expect(Judged(Envelope(["properties": properties]).body, by: listing).codes == [nil])
    }

    @Test func `the number of properties is limited to the exact one`() throws {
        func properties(_ count: Int) -> String {
            "{" + (0..<count).map { "\"p\($0)\":1" }.joined(separator: ",") + "}"
        }
        let contract = try Inputs.contract()
        let most = Judged(Envelope(["properties": properties(64)]).body, by: contract)
        #expect(most.events.first?.removed.count == 64)
        let more = Judged(Envelope(["properties": properties(65)]).body, by: contract)
        #expect(more.codes == ["too_many_properties"])
        #expect(more.records.isEmpty)
    }

    // MARK: - E-mail

    @Test func `e-mail-like values reject, go, or stay, as the contract says`() throws {
        func contract(_ policy: String) throws -> Contract {
            try Contract(
                """
                {contract_version: "1", schema_versions: {min: 1, max: 1}, email_like: "\(policy)",
                 events: {screen_view: {properties: {screen: {type: "string"}, id: {type: "string", required: true}}}}}
                """
            )
        }
        let body = Envelope(["properties": #"{"id":"1","screen":"of bob@mail.example"}"#]).body
        let rejected = Judged(body, by: try contract("reject"))
        #expect(rejected.events.first?.code == "email_like_value")
        #expect(rejected.events.first?.detail == "screen")
        let removed = Judged(body, by: try contract("remove"))
        #expect(removed.events.first?.removed == ["screen"])
        #expect(removed.properties() == #"{"id":"1"}"#)
        #expect(Judged(body, by: try contract("allow")).properties() == #"{"id":"1","screen":"of bob@mail.example"}"#)
        // A required property that had to go is missing.
        let required = Envelope(["properties": #"{"id":"bob@mail.example"}"#]).body
        #expect(Judged(required, by: try contract("remove")).codes == ["invalid_property"])
    }

    @Test(arguments: [
        "a@b.io", "write to bob.smith+x@mail.example.com, please", "x_@b.de", "größe@bücher.example",
        "https://x.example/?q=bob%40mail.example", "<a@b.co>", "a@b.co.", "mailto:a@b.museum",
    ])
    func `this looks like an e-mail address`(value: String) throws {
        let judged = Judged(Envelope(["properties": "{\"screen\":\"\(value)\"}"]).body, by: try Inputs.contract())
        #expect(judged.codes == ["email_like_value"])
    }

    @Test(arguments: [
        "@handle", "home @ work.now", "a@b", "5@6.7", "a@", "@", "100%40", "a@b.c", "a@.io", "meet @noon. ok", "x%4",
        "a@b..io",
    ])
    func `this does not`(value: String) throws {
        let judged = Judged(Envelope(["properties": "{\"screen\":\"\(value)\"}"]).body, by: try Inputs.contract())
        #expect(judged.codes == [nil])
    }

    // MARK: - Experiments

    @Test func `listed experiments stay, by name, and others go`() throws {
        let judged = try judge(
            #"{"kind":"retention"}"#,
            experiments: #"{"new_export":"b","old":"x","layout":"wide"}"#
        )
        #expect(judged.events.first?.removed == ["experiments.old"])
        #expect(
            judged.records.first?.contains(#","experiments":{"layout":"wide","new_export":"b"},"properties""#) == true
        )
    }

    @Test(arguments: [
        #"{"layout":1}"#, #"{"layout":""}"#, #"{"layout":"a@b"}"#, #"{"layout":null}"#, #"{"layout":"a\u0000"}"#,
    ])
    func `a variant is a plain opaque string`(experiments: String) throws {
        let judged = try judge(#"{"kind":"retention"}"#, experiments: experiments)
        #expect(judged.codes == ["invalid_experiments"])
        #expect(judged.events.first?.detail == "layout")
    }

    @Test func `sixteen experiments are the most, and none stands twice`() throws {
        let sixteen = (0..<16).map { "\"x\($0)\":\"a\"" }.joined(separator: ",")
        #expect(try judge(#"{"kind":"retention"}"#, experiments: "{\(sixteen)}").codes == [nil])
        let more = try judge(#"{"kind":"retention"}"#, experiments: "{\(sixteen),\"y\":\"a\"}")
        #expect(more.codes == ["invalid_experiments"])
        for twice in [#"{"layout":"a","layout":"a"}"#, #"{"x":"a","x":"a"}"#] {
            #expect(try judge(#"{"kind":"retention"}"#, experiments: twice).codes == ["duplicate_key"])
        }
    }
}

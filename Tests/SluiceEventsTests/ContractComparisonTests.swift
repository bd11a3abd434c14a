// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import Testing

struct ContractComparisonTests {
    private static let base = """
        contract_version: "1", schema_versions: { min: 1, max: 3 }, platforms: ["ios", "android"],
        defaults: { "*": { schema_version: 1 }, web: { platform: "ios" } }, experiments: ["a", "b"],
        """

    private func definition(_ text: String) throws -> ContractDefinition {
        try Contract(parsing: Array("{\(text)}".utf8), file: "contract.json5").definition
    }

    private func changes(_ old: String, _ new: String) throws -> [String] {
        ContractComparison(from: try definition(old), to: try definition(new)).changes.map {
            "\($0.effect.rawValue) \($0.path): \($0.text)"
        }
    }

    /// Changes between two contracts with one event each.
    private func changes(event old: String, _ new: String) throws -> [String] {
        try changes("\(Self.base) events: { e: \(old) }", "\(Self.base) events: { e: \(new) }")
    }

    private func changes(property old: String, _ new: String) throws -> [String] {
        try changes(event: "{ properties: { p: \(old) } }", "{ properties: { p: \(new) } }")
    }

    @Test func `a contract changes nothing against itself`() throws {
        let text = "\(Self.base) events: { e: { properties: { p: { type: 'string' } } }, f: { source: 'server' } }"
        #expect(try changes(text, text) == [])
    }

    @Test(arguments: [
        (#"{ type: "string" }"#, #"{ type: "number" }"#, "breaks", ".type: number, was string"),
        (
            #"{ type: "string" }"#, #"{ type: "string", required: true }"#, "breaks",
            ".required: true, was false: events without it are refused"
        ),
        (#"{ type: "string", required: true }"#, #"{ type: "string" }"#, "widens", ".required: false, was true"),
        (
            #"{ type: "number", accept_numeric_string: true }"#, #"{ type: "number" }"#, "breaks",
            ".accept_numeric_string: false, was true"
        ),
        (#"{ type: "number" }"#, #"{ type: "number", min: 0 }"#, "breaks", ".min: 0, was none"),
        (#"{ type: "number", min: 0 }"#, #"{ type: "number", min: 0.5 }"#, "breaks", ".min: 0.5, was 0"),
        (#"{ type: "number", min: 0 }"#, #"{ type: "number", min: -1 }"#, "widens", ".min: -1, was 0"),
        (#"{ type: "number", max: 9 }"#, #"{ type: "number", max: 8 }"#, "breaks", ".max: 8, was 9"),
        (#"{ type: "number", max: 9 }"#, #"{ type: "number" }"#, "widens", ".max: none, was 9"),
        (#"{ type: "string" }"#, #"{ type: "string", max_length: 5 }"#, "breaks", ".max_length: 5, was none"),
        (
            #"{ type: "string", max_length: 5 }"#, #"{ type: "string", max_length: 6 }"#, "widens",
            ".max_length: 6, was 5"
        ),
        (
            #"{ type: "string", one_of: ["x", "y"] }"#, #"{ type: "string", one_of: ["x"] }"#, "breaks",
            #".one_of: "y" gone: events with it are refused"#
        ),
        (
            #"{ type: "string" }"#, #"{ type: "string", one_of: ["x"] }"#, "breaks",
            #".one_of: new: other values than "x" are refused"#
        ),
        (
            #"{ type: "number", one_of: [1] }"#, #"{ type: "number", one_of: [1, 2.5] }"#, "widens",
            #".one_of: "2.5" new"#
        ),
    ])
    func `a property's rule`(old: String, new: String, effect: String, text: String) throws {
        #expect(try changes(property: old, new) == ["\(effect) events.e.properties.p\(text)"])
    }

    @Test func `a limit that every old choice keeps breaks nothing`() throws {
        let old = #"{ type: "string", one_of: ["abc"] }"#
        #expect(try changes(property: old, #"{ type: "string", one_of: ["abc"], max_length: 3 }"#) == [])
        #expect(
            try changes(property: old, #"{ type: "string", one_of: ["abc"], max_length: 2 }"#)
                == ["breaks events.e.properties.p.max_length: 2, was none"]
        )
    }

    @Test func `properties that come and go`() throws {
        let some = #"{ properties: { p: { type: "string" } } }"#
        let required = #"{ properties: { p: { type: "string", required: true } } }"#
        #expect(
            try changes(event: "{}", some)
                == ["widens events.e.properties.p: new: it was removed from events before"]
        )
        #expect(
            try changes(event: "{}", required)
                == ["breaks events.e.properties.p.required: new and required: events without it are refused"]
        )
        #expect(
            try changes(event: some, "{}") == ["breaks events.e.properties.p: gone: it is removed from events"]
        )
    }

    @Test func `rules of some schema versions are compared version by version`() throws {
        let old = #"{ type: "string", schema_versions: { min: 2 } }"#
        let new = #"[{ type: "string", schema_versions: { max: 2 } }, { type: "number", schema_versions: { min: 3 } }]"#
        #expect(
            try changes(property: old, new) == [
                "widens events.e.properties.p: new: it was removed from events before (schema_version 1)",
                "breaks events.e.properties.p.type: number, was string (schema_version 3)",
            ]
        )
    }

    @Test func `common properties are told once`() throws {
        let old = "\(Self.base) common_properties: { c: { type: 'string' } }, events: { e: {}, f: {}, g: {} }"
        let new = "\(Self.base) common_properties: { c: { type: 'boolean' } }, events: { e: {}, f: {}, g: {} }"
        #expect(try changes(old, new) == ["breaks common_properties.c.type: boolean, was string"])
    }

    @Test(arguments: [
        ("{}", "{ source: 'server' }", "breaks events.e.source: server, was app: apps that send it are refused"),
        (
            "{ source: 'server' }", "{}",
            "breaks events.e.source: app, was server: it is refused without the fields that only servers may leave out"
        ),
        (
            "{}", "{ collection: 'c' }",
            "breaks events.e.collection: c, was the default: queries on the old collection miss it"
        ),
        (
            "{}", "{ durability: 'low', expires_after_s: 60 }",
            "breaks events.e.expires_after_s: 60 is new: the event may expire undelivered"
        ),
        (
            "{ durability: 'low', expires_after_s: 60 }", "{ durability: 'low', expires_after_s: 90 }",
            "widens events.e.expires_after_s: 90, was 60"
        ),
        (
            "{}", "{ unlisted_properties: 'reject' }",
            "breaks events.e.unlisted_properties: reject, was remove: events with properties that are not listed are refused"
        ),
        ("{ email_like: 'remove' }", "{ email_like: 'allow' }", "widens events.e.email_like: allow, was remove"),
    ])
    func `an event's own keys`(old: String, new: String, change: String) throws {
        #expect(try changes(event: old, new) == [change])
    }

    @Test func `the contract as a whole`() throws {
        let old = "\(Self.base) on_unknown: 'quarantine', email_like: 'remove', events: { e: {}, f: {} }"
        let new = """
            contract_version: "2", schema_versions: { min: 2, max: 2 }, platforms: ["ios", "web"],
            defaults: { "*": { schema_version: 2 } }, unlisted_properties: "reject",
            experiments: ["a"], events: { e: {}, g: {} }
            """
        #expect(
            try changes(old, new) == [
                "breaks schema_versions.min: schema_version 1 is refused; min was 1",
                "breaks schema_versions.max: schema_version 3 is refused; max was 3",
                "breaks platforms: android is gone: events of this platform are refused",
                "widens platforms: web is new",
                "breaks defaults.*.schema_version: 2, was 1: events that leave it out count as something else",
                "breaks defaults.web.platform: gone, was ios: events that leave it out are refused",
                "breaks defaults.web.schema_version: 2, was 1: events that leave it out count as something else",
                "breaks on_unknown: reject, was quarantine: events that are not listed are refused, not kept",
                "breaks unlisted_properties: reject, was remove: events with properties that are not listed are refused",
                "breaks email_like: reject, was remove: for values that look like e-mail addresses, their events are refused",
                "breaks experiments: b is gone: events with it are refused",
                "breaks events.f: gone: the event is refused",
                "widens events.g: new: the event was set aside before",
            ]
        )
    }

    @Test func `names are compared as bytes`() throws {
        let old = "\(Self.base) events: { 'caf\u{E9}': {} }"
        let new = "\(Self.base) events: { 'cafe\u{301}': {} }"
        #expect(try changes(old, new).count == 2)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceSystem
import Testing

struct ContractTests {
    private func problems(_ text: String) -> [String] {
        do throws(ContractError) {
            _ = try Contract(parsing: Array(text.utf8), file: "contract.json5")
            return []
        } catch {
            return error.problems.map { "\($0.path): \($0.text)" }
        }
    }

    private func problems(event: String) -> [String] {
        problems("{contract_version: '1', schema_versions: {min: 1, max: 3}, events: {e: \(event)}}")
    }

    private func problems(property: String) -> [String] { problems(event: "{properties: {p: \(property)}}") }

    @Test func `the whole form is read`() throws {
        let contract = try Contract(
            """
            {
              contract_version: "2026-11-1",  // a comment
              schema_versions: { min: 1, max: 2 },
              platforms: ["ios", "android"],
              defaults: { "android-prod": { platform: "android", schema_version: 1 } },
              on_unknown: "quarantine", unlisted_properties: "reject", email_like: "allow",
              experiments: ["new_export"],
              common_properties: { locale: { type: "string", max_length: 20 } },
              events: {
                report_exported: {
                  properties: {
                    report_type: { type: "string", one_of: ["retention", "funnel"], required: true },
                    row_count: { type: "number", min: 0, accept_numeric_string: true },
                    format: { type: "string", schema_versions: { min: 2 } },
                  },
                  collection: "reports",
                },
                purchase_completed: { source: "server", properties: { amount_cents: { type: "number" } } },
                screen_viewed: { durability: "low", expires_after_s: 86400, unlisted_properties: "remove" },
              },
            }
            """
        )
        let definition = contract.definition
        #expect(contract.version == "2026-11-1")
        #expect(contract.hash.count == 16)
        #expect(contract.eventNames == ["report_exported", "purchase_completed", "screen_viewed"])
        #expect(definition.onUnknown == .quarantine && definition.emailLike == .allow)
        #expect(definition.defaults.first?.client == "android-prod")
        let report = definition.events[0]
        #expect(report.properties.map(\.name) == ["format", "locale", "report_type", "row_count"])
        #expect(report.properties[0].versions == 2...2 && report.properties[1].versions == 1...2)
        #expect(report.properties[2].isRequired && report.properties[2].oneOfStrings == ["retention", "funnel"])
        #expect(report.properties[3].acceptsNumericString && report.properties[3].minimum == 0)
        #expect(report.collection == "reports" && report.unlisted == .reject)
        #expect(definition.events[1].source == .server)
        #expect(definition.events[2].expiresAfterSeconds == 86_400 && definition.events[2].unlisted == .remove)
    }

    @Test func `every problem of a file is told at once, with its path and line`() throws {
        let text = """
            {
              contract_version: 7,
              schema_version: { min: 1, max: 1 },
              events: {
                a: { propertys: {}, properties: { x: { typ: "string" }, y: { type: "text" } } },
              },
            }
            """
        #expect {
            try Contract(parsing: Array(text.utf8), file: "plan.json5")
        } throws: { error in
            guard let error = error as? ContractError else { return false }
            let lines = "\(error)".split(separator: "\n")
            let expected = [
                "plan.json5: line 3: schema_version: unknown key; known here are ",
                "plan.json5: line 2: contract_version: must be a string, not a whole number",
                "plan.json5: line 1: schema_versions: missing",
                "plan.json5: line 5: events.a.propertys: unknown key; known here are ",
                "plan.json5: line 5: events.a.properties.x.typ: unknown key; known here are ",
                "plan.json5: line 5: events.a.properties.x.type: missing",
                "plan.json5: line 5: events.a.properties.y.type: must be one of \"string\", \"number\", \"boolean\"",
            ]
            return lines.count == expected.count && zip(lines, expected).allSatisfy { $0.hasPrefix($1) }
        }
    }

    @Test func `text that is no JSON5 is told with its place`() {
        #expect(problems("{a: }").first?.hasPrefix(": column 5: ") == true)
        #expect(problems("").count == 1)
        #expect(problems("[]") == [": must be an object, not a list"])
    }

    @Test func `a file that cannot be read is a problem of its own`() {
        #expect {
            try Contract(file: "/nonexistent/contract.json5")
        } throws: {
            "\($0)" == "/nonexistent/contract.json5: the contract cannot be read: No such file or directory"
        }
    }

    @Test(arguments: [
        "event", "user_id", "received_at", "environment", "account_id", "timestamp_corrected", "contract_version",
        "experiment_x", "client",
    ])
    func `a property cannot take a name that the event has already`(name: String) {
        let text =
            "events.e.properties.\(name): the name is taken: every event has a field of its own of that name, or may have"
        #expect(problems(event: "{properties: {\(name): {type: 'string'}}}") == [text])
        let common =
            "{contract_version: '1', schema_versions: {min: 1, max: 1}, common_properties: {\(name): {type: 'string'}}, events: {}}"
        #expect(problems(common).count == 1)
    }

    @Test(arguments: [
        (
            "{type: 'number', max_length: 3}",
            "events.e.properties.p.max_length: only a property of type string has max_length"
        ),
        ("{type: 'string', min: 3}", "events.e.properties.p.min: only a property of type number has min"),
        (
            "{type: 'string', accept_numeric_string: true}",
            "events.e.properties.p.accept_numeric_string: only a property of type number has accept_numeric_string"
        ),
        ("{type: 'number', min: 2, max: 1}", "events.e.properties.p: min is above max"),
        ("{type: 'string', required: 'yes'}", "events.e.properties.p.required: must be true or false, not a string"),
        ("{type: 'string', one_of: []}", "events.e.properties.p.one_of: one_of cannot be empty"),
        ("{type: 'string', one_of: ['a', 1]}", "events.e.properties.p.one_of[1]: must be a string, not a whole number"),
        ("{type: 'boolean', one_of: []}", "events.e.properties.p.one_of: one_of cannot be empty"),
        (
            "{type: 'string', schema_versions: {min: 0}}",
            "events.e.properties.p.schema_versions.min: must be a whole number from 1 to 3"
        ),
        (
            "{type: 'string', schema_versions: {min: 3, max: 2}}",
            "events.e.properties.p.schema_versions: min is above max"
        ),
        (
            "[{type: 'string', schema_versions: {max: 2}}, {type: 'number', schema_versions: {min: 2}}]",
            "events.e.properties.p[1]: two rules for one schema version"
        ),
        ("[]", "events.e.properties.p: a list of rules cannot be empty"),
        ("'string'", "events.e.properties.p: must be an object, not a string"),
    ])
    func `a property's rule must make sense`(property: String, problem: String) {
        #expect(problems(property: property).first == problem)
    }

    @Test(arguments: [
        ("{expires_after_s: 60}", "events.e.expires_after_s: only events of durability \"low\" may expire"),
        (
            "{durability: 'low', expires_after_s: 0}",
            "events.e.expires_after_s: must be a whole number from 1 to 10000000000"
        ),
        ("{durability: 'none'}", "events.e.durability: must be one of \"normal\", \"low\""),
        ("{source: 'client'}", "events.e.source: must be one of \"app\", \"server\""),
        ("{collection: ''}", "events.e.collection: must have 1 to 200 characters and no NUL"),
    ])
    func `an event's entry must make sense`(event: String, problem: String) {
        #expect(problems(event: event) == [problem])
    }

    @Test(arguments: [
        ("platforms: ['ios', 'server']", "platforms: server is the platform of server events and cannot be listed"),
        ("platforms: ['ios', 'ios']", "platforms[1]: ios stands twice"),
        ("defaults: {x: {platform: 'web'}}", "defaults.x.platform: web is not among the platforms"),
        ("defaults: {x: {schema_version: 4}}", "defaults.x.schema_version: must be a whole number from 1 to 3"),
        ("experiments: 'x'", "experiments: must be a list, not a string"),
        ("on_unknown: 'drop'", "on_unknown: must be one of \"reject\", \"quarantine\""),
    ])
    func `the contract's own keys must make sense`(member: String, problem: String) {
        #expect(
            problems("{contract_version: '1', schema_versions: {min: 1, max: 3}, events: {}, \(member)}") == [problem]
        )
    }

    @Test func `contracts that differ in a byte have different hashes`() throws {
        let text = "{contract_version: '1', schema_versions: {min: 1, max: 1}, events: {}}"
        #expect(try Contract(text).hash == (try Contract(text)).hash)
        #expect(try Contract(text).hash != (try Contract(text + " ")).hash)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceEndpoint
internal import SluiceEvents
internal import SluiceJSON
internal import SluiceSystem

/// A contract file is taken or every problem is told; one that is taken can be judged by and described.
final class ContractFuzz {
    private let rules: FuzzRules
    private let bodies: BodyFuzz

    init() throws {
        rules = try FuzzRules()
        bodies = try BodyFuzz()
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        let text = Array(input)
        let contract: Contract
        do throws(ContractError) {
            contract = try Contract(parsing: text, file: "contract.json5")
        } catch {
            try hold(!error.problems.isEmpty, "refused without a problem")
            for problem in error.problems {
                try hold(!problem.text.isEmpty && problem.line >= 0, "a problem says nothing")
            }
            return
        }
        let json = JSON5Fuzz.plain(try JSON5(parsing: text)).written
        let twin = try need(try? Contract(parsing: json, file: ""), "taken as JSON5 and refused as JSON")
        try hold("\(twin.definition)" == "\(contract.definition)", "JSON and JSON5 mean different contracts")
        let document = OpenAPIDocument(EndpointPolicy(EndpointPolicy.Settings(), contract: contract)).text
        let plain = try need(PlainJSON(Array(document.utf8)), "a description that is no JSON")
        try hold(!plain.hasTwins, "a description with twins")
        for event in contract.definition.events.prefix(4) {
            let sample = Self.sample(of: event, contract.definition)
            let body = PlainJSON.object([Self.member("events", .array([sample]))]).written
            try body.withUnsafeBytes { body in
                try bodies.check(body, rules.phone, contract)
                try bodies.check(body, rules.server, contract)
            }
        }
    }

    /// An event that the contract is likely to take.
    private static func sample(of event: ContractDefinition.Event, _ contract: ContractDefinition) -> PlainJSON {
        var members = [
            member("event", text(event.name)), member("event_id", text("e-1")),
            member("occurred_at", .number(Array("1796000000".utf8))), member("anonymous_id", text("a")),
            member("session_id", text("s")), member("app_version", text("1")), member("build_number", text("1")),
            member("schema_version", .number(Array("\(contract.schemaVersions.lowerBound)".utf8))),
            member("properties", .object(event.properties.map { member($0.name, sample(of: $0)) })),
        ]
        if let platform = contract.platforms.first { members.append(member("platform", text(platform))) }
        if let experiment = contract.experiments.first {
            members.append(member("experiments", .object([member(experiment, text("a"))])))
        }
        return .object(members)
    }

    private static func sample(of property: ContractDefinition.Property) -> PlainJSON {
        switch property.type {
        case .boolean: .boolean(true)
        case .number:
            .number(Array("\(property.oneOfNumbers.first ?? property.minimum ?? property.maximum ?? 1)".utf8))
        case .string: text(property.oneOfStrings.first ?? String("value".prefix(property.maximumLength ?? 5)))
        }
    }

    private static func text(_ text: String) -> PlainJSON { .string(Array(text.utf8)) }

    private static func member(_ name: String, _ value: PlainJSON) -> PlainJSON.Member {
        PlainJSON.Member(key: Array(name.utf8), value: value)
    }
}

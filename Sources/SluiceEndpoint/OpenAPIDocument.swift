// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents

/// Describes the endpoint's HTTP face under a policy, as OpenAPI 3.1. https://spec.openapis.org/oas/v3.1.0
///
/// It says what an event must be like to be accepted. What the contract does not list is removed or rejected by event;
/// a request with such events is still answered 200.
package struct OpenAPIDocument {
    private let policy: EndpointPolicy

    package init(_ policy: EndpointPolicy) {
        self.policy = policy
    }

    /// The document's JSON.
    package var text: String {
        let definition = policy.contract.definition
        var components: [(String, JSONNode)] = [
            ("Batch", batch), ("Answer", Self.answer), ("Problem", Self.problem),
        ]
        for event in definition.events { components.append((Self.schemaName(event), self.event(event))) }
        var root: [(String, JSONNode)] = [
            ("openapi", "3.1.0"),
            (
                "info",
                [
                    "title": "Sluice endpoint", "version": .string(definition.version),
                    "description": "Takes batches of events. An id that the answer names as accepted is on disk.",
                ]
            ),
            ("paths", .object([(policy.settings.path, .object([("post", .object(operation))]))])),
        ]
        var all: [(String, JSONNode)] = [("schemas", .object(components))]
        if policy.tokens != nil {
            all.append(("securitySchemes", ["token": ["type": "http", "scheme": "bearer", "bearerFormat": "JWT"]]))
        }
        root.append(("components", .object(all)))
        return JSONNode.object(root).text
    }

    // MARK: - The operation

    private var operation: [(String, JSONNode)] {
        var operation: [(String, JSONNode)] = [
            ("operationId", "postEvents"),
            ("summary", "Post a batch of events"),
            (
                "parameters",
                [
                    [
                        "name": "X-Client-ID", "in": "header", "required": false, "schema": ["type": "string"],
                        "description": "The configured client that the batch comes from.",
                    ]
                ]
            ),
            (
                "requestBody",
                [
                    "required": true,
                    "content": ["application/json": ["schema": ["$ref": "#/components/schemas/Batch"]]],
                ]
            ),
            ("responses", .object(responses)),
        ]
        if policy.tokens != nil { operation.append(("security", [["token": []], [:]])) }
        return operation
    }

    private var responses: [(String, JSONNode)] {
        let retry: JSONNode = [
            "Retry-After": ["schema": ["type": "integer", "minimum": 1], "description": "Seconds to wait."]
        ]
        return [
            (
                "200",
                [
                    "description":
                        "Every event has its verdict. What is accepted is on disk; what is rejected must not be sent again.",
                    "content": ["application/json": ["schema": ["$ref": "#/components/schemas/Answer"]]],
                ]
            ),
            ("400", Self.refusal("The request or its body as a whole cannot be read. Do not send it again as it is.")),
            ("401", Self.refusal("The token is not valid, or has expired.")),
            ("404", Self.refusal("Another path.")),
            ("405", Self.refusal("Another method than POST.", headers: ["Allow": ["schema": ["type": "string"]]])),
            ("408", ["description": "The request did not arrive in time."]),
            ("411", Self.refusal("The length of the body is missing.")),
            ("413", Self.refusal("The body is too long or holds too many events. It may be split.")),
            (
                "415",
                Self.refusal(
                    "Another Content-Type than application/json in UTF-8, or another Content-Encoding than gzip."
                )
            ),
            ("417", Self.refusal("Another expectation than 100-continue.")),
            ("429", Self.refusal("Too many events; nothing was taken.", headers: retry)),
            ("431", Self.refusal("The head is too long.")),
            ("501", Self.refusal("A transfer coding that is not known.")),
            ("503", Self.refusal("Nothing was acknowledged; send the same events again.", headers: retry)),
            ("505", Self.refusal("Another version than HTTP/1.0 and HTTP/1.1.")),
        ]
    }

    private static func refusal(_ description: String, headers: JSONNode? = nil) -> JSONNode {
        var members: [(String, JSONNode)] = [("description", .string(description))]
        if let headers { members.append(("headers", headers)) }
        members.append(
            (
                "content",
                [
                    "application/json": ["schema": ["$ref": "#/components/schemas/Problem"]],
                    // What cannot be read as HTTP at all is answered by the HTTP library.
                    "text/html": ["schema": ["type": "string"]],
                ]
            )
        )
        return .object(members)
    }

    private static let problem: JSONNode = [
        "type": "object",
        "required": ["request_id", "code", "detail"],
        "properties": [
            "request_id": ["type": "string"], "code": ["type": "string"], "detail": ["type": "string"],
            "byte_offset": ["type": "integer", "minimum": 0],
        ],
    ]

    private static let answer: JSONNode = [
        "type": "object",
        "required": ["request_id", "accepted", "rejected", "removed"],
        "properties": [
            "request_id": ["type": "string"],
            "accepted": ["type": "array", "items": ["type": "string"], "description": "Ids that are on disk."],
            "rejected": [
                "type": "array",
                "items": [
                    "type": "object",
                    "required": ["index", "event_id", "code", "detail"],
                    "properties": [
                        "index": ["type": "integer", "minimum": 0], "event_id": ["type": ["string", "null"]],
                        "code": ["type": "string", "enum": .array(EventCode.allCases.map { .string("\($0.text)") })],
                        "detail": ["type": "string"],
                    ],
                ],
            ],
            "removed": [
                "type": "array",
                "items": [
                    "type": "object",
                    "required": ["index", "names"],
                    "properties": [
                        "index": ["type": "integer", "minimum": 0],
                        "names": ["type": "array", "items": ["type": "string"]],
                    ],
                ],
            ],
        ],
    ]

    // MARK: - Events

    private static let seconds: JSONNode = ["type": "integer", "minimum": 0, "maximum": 99_999_999_999]
    private static let identifier: JSONNode = [
        "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[^@\\u0000-\\u001f]+$",
    ]
    private static let version: JSONNode = [
        "type": "string", "minLength": 1, "maxLength": 50, "pattern": "^[^\\u0000-\\u001f]+$",
    ]

    private var batch: JSONNode {
        let events = policy.contract.definition.events.map { event -> JSONNode in
            ["$ref": .string("#/components/schemas/\(Self.schemaName(event))")]
        }
        let reasons = ClientDrops.reasons.map { reason -> (String, JSONNode) in
            ("\(reason)", ["type": "integer", "minimum": 0])
        }
        return [
            "type": "object",
            "required": ["events"],
            "properties": [
                "events": [
                    "type": "array", "maxItems": .integer(policy.limits.maximumEvents),
                    "items": ["anyOf": .array(events)],
                ],
                "client_sent_at": Self.seconds,
                "drops": ["type": "object", "properties": .object(reasons)],
            ],
        ]
    }

    /// A component's name may hold fewer characters than an event's.
    private static func schemaName(_ event: ContractDefinition.Event) -> String {
        let name = event.name.utf8.map { byte -> String in
            let isPlain =
                byte == UInt8(ascii: "_") || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
                || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
            return isPlain ? String(UnicodeScalar(byte)) : "-\(String(byte, radix: 16))"
        }
        return "event." + name.joined()
    }

    private func event(_ event: ContractDefinition.Event) -> JSONNode {
        let definition = policy.contract.definition
        let isServer = event.source == .server
        let common = definition.defaults.first { $0.client == "*" }
        var required = ["event", "event_id", "occurred_at"]
        if !isServer { required += ["anonymous_id", "session_id", "app_version", "build_number"] }
        if !isServer && common?.platform == nil { required.append("platform") }
        if common?.schemaVersion == nil { required.append("schema_version") }
        if event.properties.contains(where: \.isRequired) { required.append("properties") }
        var members: [(String, JSONNode)] = [
            ("event", ["const": .string(event.name)]),
            ("event_id", ["type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[A-Za-z0-9_.:-]+$"]),
            ("occurred_at", Self.seconds), ("client_sent_at", Self.seconds),
            ("sequence", ["type": "integer", "minimum": 0]),
            ("anonymous_id", Self.identifier), ("session_id", Self.identifier),
            ("user_id", ["anyOf": [Self.identifier, ["type": "null"]]]),
            ("app_version", Self.version), ("build_number", Self.version),
            ("platform", ["enum": .array(definition.platforms.map { .string($0) })]),
            (
                "schema_version",
                [
                    "type": "integer", "minimum": .integer(definition.schemaVersions.lowerBound),
                    "maximum": .integer(definition.schemaVersions.upperBound),
                ]
            ),
        ]
        if !definition.experiments.isEmpty {
            let variants = definition.experiments.map { name -> (String, JSONNode) in (name, Self.identifier) }
            members.append(("experiments", ["type": "object", "maxProperties": 16, "properties": .object(variants)]))
        }
        members.append(("properties", properties(event)))
        var schema: [(String, JSONNode)] = [("type", "object")]
        if let summary = event.summary { schema.append(("description", .string(summary))) }
        if isServer { schema.append(("x-source", "server")) }
        schema.append(("required", .array(required.map { .string($0) })))
        schema.append(("properties", .object(members)))
        return .object(schema)
    }

    private func properties(_ event: ContractDefinition.Event) -> JSONNode {
        var members: [(String, JSONNode)] = []
        var required: [JSONNode] = []
        let window = policy.contract.definition.schemaVersions
        for property in event.properties {
            let schema = Self.property(property)
            if let last = members.last, last.0.utf8.elementsEqual(property.name.utf8) {
                // Rules that differ by schema version.
                members[members.count - 1].1 = ["anyOf": [last.1, schema]]
            } else {
                members.append((property.name, schema))
            }
            let isAlways =
                property.versions.lowerBound <= window.lowerBound && property.versions.upperBound >= window.upperBound
            if property.isRequired && isAlways { required.append(.string(property.name)) }
        }
        var schema: [(String, JSONNode)] = [
            ("type", "object"), ("maxProperties", .integer(policy.limits.maximumProperties)),
        ]
        if !required.isEmpty { schema.append(("required", .array(required))) }
        schema.append(("properties", .object(members)))
        if event.unlisted == .reject { schema.append(("additionalProperties", false)) }
        return .object(schema)
    }

    private static func property(_ property: ContractDefinition.Property) -> JSONNode {
        var schema: [(String, JSONNode)] = []
        switch property.type {
        case .boolean: schema.append(("type", "boolean"))
        case .string:
            schema.append(("type", "string"))
            if let most = property.maximumLength { schema.append(("maxLength", .integer(most))) }
            if !property.oneOfStrings.isEmpty {
                schema.append(("enum", .array(property.oneOfStrings.map { .string($0) })))
            }
        case .number:
            schema.append(("type", property.acceptsNumericString ? ["number", "string"] : "number"))
            if let least = property.minimum { schema.append(("minimum", .number(least))) }
            if let most = property.maximum { schema.append(("maximum", .number(most))) }
            if !property.oneOfNumbers.isEmpty {
                schema.append(("enum", .array(property.oneOfNumbers.map { .number($0) })))
            }
        }
        if let summary = property.summary { schema.append(("description", .string(summary))) }
        return .object(schema)
    }
}

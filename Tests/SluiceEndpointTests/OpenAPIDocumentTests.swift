// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceEndpoint
import SluiceEvents
import Testing

struct OpenAPIDocumentTests {
    @Test func `the document is JSON and describes every event of the contract`() throws {
        let contract = try Contract(
            """
            { contract_version: "7", schema_versions: { min: 1, max: 2 }, events: {
                "odd name!": { description: "Say \\"hi\\"", properties: {
                    a: { type: "string", one_of: ["x"], required: true }, b: { type: "number", min: 0.5, max: 10, schema_versions: { min: 2 } },
                } },
                fact: { source: "server", properties: {} },
            } }
            """
        )
        let text = OpenAPIDocument(EndpointProbe.policy(contract: contract)).text
        let root = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(root["openapi"] as? String == "3.1.0")
        let paths = try #require(root["paths"] as? [String: [String: [String: Any]]])
        let responses = try #require(paths["/api/mobile-events"]?["post"]?["responses"] as? [String: Any])
        for status in ["200", "400", "401", "404", "405", "411", "413", "415", "417", "429", "431", "503"] {
            #expect(responses[status] != nil)
        }
        let components = root["components"] as? [String: [String: [String: Any]]]
        let schemas = try #require(components?["schemas"])
        let event = try #require(schemas["event.odd-20name-21"])
        #expect(
            event["required"] as? [String] == [
                "event", "event_id", "occurred_at", "anonymous_id", "session_id", "app_version", "build_number",
                "platform",
                "schema_version", "properties",
            ]
        )
        #expect(
            schemas["event.fact"]?["required"] as? [String] == ["event", "event_id", "occurred_at", "schema_version"]
        )
        #expect(text.contains(#""minimum": 0.5"#) && text.contains(#""maximum": 10"#))
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceTestSupport
import Testing

struct ContractTests {
    private static let text = """
        {
          // the endpoint's own format
          contract_version: "t-1", schema_versions: { min: 1, max: 2 }, experiments: ["new_export"],
          common_properties: { locale: { type: "string", max_length: 5 } },
          events: {
            report_exported: {
              properties: {
                report_type: { type: "string", one_of: ["retention", "a@b.example"], required: true },
                row_count: { type: "number", min: 0, max: 10, accept_numeric_string: true },
                level: { type: "number", one_of: [1, 2.5] },
                is_new: { type: "boolean" },
                note: { type: "string" },
                format: [{ type: "string", schema_versions: { min: 2 } }],
              },
            },
            strict: { unlisted_properties: "reject", email_like: "remove", properties: { note: { type: "string" } } },
            purchase_completed: { source: "server", properties: { amount_cents: { type: "number" } } },
            heartbeat: { durability: "low", expires_after_s: 60, properties: {} },
          },
        }
        """
    private let contract: SluiceContract

    init() throws { contract = try SluiceContract(Data(Self.text.utf8)) }

    private func verdict(
        _ event: String,
        _ properties: [String: SluiceValue] = [:],
        experiments: [String: String] = [:],
        version: Int = 1
    ) -> SluiceContract.Verdict {
        contract.verdict(event: event, properties: properties, experiments: experiments, schemaVersion: version)
    }

    @Test(
        arguments: [
            ["row_count": 10], ["row_count": "7"], ["level": 2.5], ["is_new": false], ["note": "anything"],
            ["locale": "de-DE"],
        ] as [[String: SluiceValue]]
    )
    func `listed properties of the right kind pass`(properties: [String: SluiceValue]) {
        let all = properties.merging(["report_type": "retention"]) { $1 }
        #expect(verdict("report_exported", all) == .allowed(removed: []))
    }

    @Test(
        arguments: [
            ["row_count": 11], ["row_count": "eleven"], ["level": 2], ["is_new": 1], ["note": 1], ["locale": "de-DE-x"],
            ["note": "mail me at a@b.example"], ["report_type": "other"], ["token": "x"],
        ] as [[String: SluiceValue]]
    )
    func `what the endpoint would refuse is refused here`(properties: [String: SluiceValue]) {
        let all = ["report_type": "retention" as SluiceValue].merging(properties) { $1 }
        guard case .refused = verdict("report_exported", all) else {
            Issue.record("\(all) passed")
            return
        }
    }

    @Test func `unlisted names are removed or refused, as the contract says`() {
        let good: [String: SluiceValue] = ["report_type": "retention"]
        #expect(verdict("report_exported", ["report_type": "a@b.example", "x": 1]) == .allowed(removed: ["x"]))
        #expect(
            verdict("report_exported", good, experiments: ["new_export": "a", "y": "b"]) == .allowed(removed: ["y"])
        )
        #expect(
            verdict("report_exported", ["report_type": "retention", "format": "pdf"]) == .allowed(removed: ["format"])
        )
        #expect(
            verdict("report_exported", ["report_type": "retention", "format": "pdf"], version: 2)
                == .allowed(removed: [])
        )
        #expect(verdict("strict", ["note": "a@b.example"]) == .allowed(removed: ["note"]))
        for refused in [
            verdict("strict", ["x": 1]), verdict("unknown"), verdict("purchase_completed"), verdict("report_exported"),
        ] {
            guard case .refused = refused else {
                Issue.record("\(refused)")
                continue
            }
        }
    }

    @Test func `an event that the contract lets expire expires, and an event that breaks it is never queued`()
        async throws
    {
        let fixture = try ClientFixture()
        fixture.configuration.contract = contract
        let client = try await fixture.consented()
        #expect(await client.track("unknown").eventID == nil)
        #expect(
            await client.track("report_exported", ["report_type": "retention", "x": 1, "note": .number(.nan)]).eventID
                != nil
        )
        #expect(try fixture.queued().first?.contains(#""properties":{"report_type":"retention"}"#) == true)
        await client.track("heartbeat")
        fixture.clock.advance(milliseconds: 60_000)
        await client.flush()
        #expect(fixture.endpoint.requests.flatMap(\.events).count == 1)
    }

    @Test func `a file that is no contract is refused`() {
        for text in ["", "[]", "{}", "{ events: { a: { properties: { b: 1 } } } }"] {
            #expect(throws: SluiceError.self) { try SluiceContract(Data(text.utf8)) }
        }
    }

    @Test(arguments: [
        ("a@b.example", true), ("write to a.b+c@mail.example.org now", true), ("a%40b.example", true), ("é@é.éé", true),
        ("a@b", false), ("@b.example", false), ("a@b.c", false), ("a @b.example", false), ("a@b. example", false),
        ("100%40", false), ("", false), ("a.@b.example", false), ("x@y@b.example", true), ("a@b.example.", true),
    ])
    func `what looks like an e-mail address is found as the endpoint finds it`(text: String, isFound: Bool) {
        #expect(EmailLike.isFound(in: text) == isFound)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceEndpoint
import SluiceEvents
import SluiceTestSupport
import Testing

/// Bodies as the stock serialisers of iOS, Android and React Native write them.
@Suite(.timeLimit(.minutes(1)))
struct MobileBodyTests {
    private static let contract = """
        {
          contract_version: "1", schema_versions: { min: 1, max: 2 },
          defaults: { "*": { schema_version: 1 }, "android-prod": { platform: "android" } },
          events: { report_exported: { properties: {
            report_type: { type: "string", one_of: ["retention", "funnel"], required: true },
            row_count: { type: "number", min: 0, accept_numeric_string: true },
          } }, signup_completed: { properties: {} } },
        }
        """

    private func accepted(_ body: String, headers: [String] = []) async throws -> [[String: Any]] {
        let probe = try EndpointProbe(contract: Contract(Self.contract), settings: { $0.clock.onAge = .off })
        let answer = try await probe.post(body, headers: headers)
        #expect(answer.status == 200)
        #expect(answer.body.contains(#""rejected":[],"removed":[]"#), "\(answer.body)")
        return try probe.spooled()
    }

    @Test func `the portable envelope is taken`() async throws {
        let records = try await accepted(
            """
            {"events":[{
              "event": "report_exported", "event_id": "evt_01J...", "occurred_at": 1785081600, "anonymous_id": "anon_01J...",
              "user_id": "usr_42", "session_id": "ses_01J...", "app_version": "4.8.0", "build_number": "842", "platform": "ios",
              "schema_version": 1, "properties": { "report_type": "retention", "row_count": 18420 }
            }]}
            """
        )
        #expect(records.first?["timestamp"] as? Int == 1_785_081_600)
    }

    @Test func `Swift leaves nil out, escapes slashes and writes whole doubles as it likes`() async throws {
        let records = try await accepted(
            #"{"events":[{"user_id":"usr_42","session_id":"ses_01J","properties":{"row_count":18420,"report_type":"retention"},"#
                + #""app_version":"4.8.0","event":"report_exported","schema_version":1,"event_id":"evt_01J","platform":"ios","#
                + #""anonymous_id":"anon\/01J","occurred_at":1785081600,"build_number":"842"},"#
                + #"{"session_id":"ses_01J","properties":{"row_count":18420.0,"report_type":"funnel"},"app_version":"4.8.0","#
                + #""event":"report_exported","schema_version":1,"event_id":"evt_02J","platform":"ios","anonymous_id":"a","#
                + #""occurred_at":1785081600,"build_number":"842"}]}"#
        )
        #expect(records.count == 2)
    }

    @Test func `Kotlin leaves defaults out and sends numbers as strings`() async throws {
        let records = try await accepted(
            #"{"events":[{"event":"report_exported","event_id":"evt_01J","occurred_at":1785081600,"anonymous_id":"anon_01J","#
                + #""session_id":"ses_01J","app_version":"4.8.0","build_number":"842","#
                + #""properties":{"report_type":"retention","row_count":"18420"}}]}"#,
            headers: ["X-Client-ID: android-prod"]
        )
        let envelope = records.first?["envelope"] as? [String: Any]
        #expect(envelope?["platform"] as? String == "android")
        #expect(envelope?["schema_version"] as? Int == 1)
        #expect((envelope?["properties"] as? [String: Any])?["row_count"] as? Int == 18420)
    }

    @Test func `TypeScript leaves undefined out and sends null`() async throws {
        let records = try await accepted(
            #"{"events":[{"event":"signup_completed","event_id":"7b0f3f0e-1f0c-4f6e-9c39-0d5f2b8b3a11","occurred_at":1785081600,"#
                + #""anonymous_id":"anon_01J","user_id":null,"session_id":"ses_01J","app_version":"4.8.0","build_number":"842","#
                + #""platform":"android","schema_version":1,"properties":{}}],"client_sent_at":1785081660}"#
        )
        #expect(records.first?["client_sent_at"] as? Int == 1_785_081_660)
    }

    /// Case C13.
    @Test func `clock errors follow the policy, and nothing is rewritten silently`() async throws {
        let old = Batch.body(Batch.event("old", ["occurred_at": "1700000000"]))
        let early = Batch.body(Batch.event("early", ["occurred_at": "1796010000", "client_sent_at": "1796010010"]))
        let usual = try EndpointProbe()
        #expect(try await usual.post(old).body.contains(#""accepted":["old"]"#))
        #expect(try await usual.post(early).body.contains(#""accepted":["early"]"#))
        let records = try usual.spooled()
        #expect((records[0]["quarantine"] as? [String: Any])?["reason"] as? String == "occurred_at_too_old")
        #expect(records[1]["timestamp_corrected"] as? Bool == true)
        #expect(records[1]["timestamp"] as? Int == 1_796_000_000)
        #expect((records[1]["envelope"] as? [String: Any])?["occurred_at"] as? Int == 1_796_010_000)
        let strict = try EndpointProbe(settings: {
            $0.clock.onAge = .reject
            $0.clock.onFuture = .reject
        })
        #expect(try await strict.post(old).body.contains("occurred_at_too_old"))
        #expect(try await strict.post(early).body.contains("occurred_at_in_future"))
        #expect(try strict.spooled().isEmpty)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import Testing

struct TrustTests {
    private let contract: Contract

    init() throws {
        contract = try Contract(
            """
            {contract_version: "1", schema_versions: {min: 1, max: 1},
             events: {
               screen_view: {properties: {screen: {type: "string"}, count: {type: "number"}, ok: {type: "boolean"}}},
               purchase_completed: {source: "server", properties: {amount_cents: {type: "number"}}},
             }}
            """
        )
    }

    private func signedIn(_ id: String, assigns: Bool = false) -> Admission {
        var admission = Admission.phone
        admission.user = Admission.User(id: Array(id.utf8), account: Array("acc_\(id)".utf8))
        admission.assignsUser = assigns
        return admission
    }

    @Test func `a token proves one user and not a batch`() throws {
        let queued = body(
            Envelope(["user_id": #""A""#]),
            Envelope(["user_id": "null"]),
            Envelope(["user_id": nil]),
            Envelope(["user_id": #""B""#])
        )
        let judged = Judged(queued, by: contract, under: signedIn("B"))
        #expect(judged.codes == [nil, nil, nil, nil])
        for index in 0..<3 { #expect(try judged.part("trusted", index).isEmpty) }
        #expect(try judged.part("trusted", 3) as? [String: String] == ["user_id": "B", "account_id": "acc_B"])
        for index in 0..<4 {
            #expect(try judged.part("envelope", index)["anonymous_id"] as? String == "anon-1")
            #expect(try judged.part("envelope", index)["user_id"] == nil)
        }
        #expect(judged.userMismatches == 1 && judged.unprovenUsers == 1)
    }

    @Test func `assign gives nobody's events to the token's user, and no others`() throws {
        let queued = body(Envelope(["user_id": #""A""#]), Envelope(["user_id": "null"]), Envelope(["user_id": nil]))
        let judged = Judged(queued, by: contract, under: signedIn("B", assigns: true))
        #expect(try judged.part("trusted", 0).isEmpty)
        #expect(try judged.part("trusted", 1)["user_id"] as? String == "B")
        #expect(try judged.part("trusted", 2)["account_id"] as? String == "acc_B")
    }

    @Test func `an unproven user is removed, or kept as claimed`() throws {
        let body = Envelope(["user_id": #""A""#]).body
        let removed = Judged(body, by: contract)
        #expect(try removed.part("trusted").isEmpty)
        #expect(removed.unprovenUsers == 1 && removed.userMismatches == 0)
        var admission = Admission.phone
        admission.unprovenUser = .claimed
        admission.client = "ios-prod"
        let kept = try Judged(body, by: contract, under: admission).part("trusted") as? [String: String]
        #expect(kept == ["claimed_user_id": "A", "client": "ios-prod"])
        admission.user = Admission.User(id: Array("B".utf8))
        #expect(try Judged(body, by: contract, under: admission).part("trusted")["claimed_user_id"] as? String == "A")
    }

    @Test func `users compare as bytes`() throws {
        let judged = Judged(Envelope(["user_id": "\"e\u{301}\""]).body, by: contract, under: signedIn("\u{E9}"))
        #expect(judged.userMismatches == 1)
        #expect(try judged.part("trusted").isEmpty)
    }

    @Test func `account_id never comes from the client`() throws {
        let judged = Judged(Envelope(["account_id": #""acc_9""#]).body, by: contract)
        #expect(judged.events.first?.removed == ["account_id"])
        #expect(judged.records.first?.contains("acc_9") == false)
    }

    @Test func `a server-only event is refused from an app and taken from a server, with less`() throws {
        let body = Envelope([
            "event": #""purchase_completed""#, "properties": #"{"amount_cents":1999}"#, "user_id": #""usr_9""#,
            "anonymous_id": nil, "session_id": nil, "app_version": nil, "build_number": nil, "platform": nil,
        ]).body
        let refused = Judged(body, by: contract, under: signedIn("usr_9"))
        #expect(refused.codes == ["server_only_event"])
        let taken = Judged(body, by: contract, under: .server)
        #expect(taken.codes == [nil])
        #expect(try taken.record()["source"] as? String == "server")
        #expect(try taken.part("trusted") as? [String: String] == ["user_id": "usr_9"])
        #expect(try taken.part("envelope")["platform"] as? String == "server")
        #expect(try taken.part("envelope")["anonymous_id"] == nil)
    }

    @Test func `a server event's platform is server whatever it says`() throws {
        let body = Envelope(["event": #""purchase_completed""#, "properties": nil, "platform": #""ios""#]).body
        #expect(try Judged(body, by: contract, under: .server).part("envelope")["platform"] as? String == "server")
    }

    @Test func `an app's event through a server keeps its platform and needs all its fields`() throws {
        #expect(
            try Judged(Envelope().body, by: contract, under: .server).part("envelope")["platform"] as? String == "ios"
        )
        let judged = Judged(Envelope(["session_id": nil]).body, by: contract, under: .server)
        #expect(judged.codes == ["invalid_session_id"])
    }
}

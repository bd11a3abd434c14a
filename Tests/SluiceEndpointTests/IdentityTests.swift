// SPDX-License-Identifier: Apache-2.0
import SluiceEndpoint
import SluiceEvents
import SluiceServer
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

/// Who an event belongs to, by whom something vouches for.
@Suite(.timeLimit(.minutes(2)))
struct IdentityTests {
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)
    private static let contract = """
        { contract_version: "1", schema_versions: { min: 1, max: 1 }, events: {
            screen_view: { properties: { screen: { type: "string" } } },
            purchase_completed: { source: "server", properties: { amount_cents: { type: "number" } } },
        } }
        """

    private func verifier() -> TokenVerifier {
        var rules = TokenRules(algorithm: .hs256)
        rules.accountClaim = "account_id"
        rules.serverRoleClaim = "role"
        rules.clientClaim = "client"
        return TokenVerifier(rules, keys: [Self.secret])
    }

    private func bearer(_ claims: String) -> [String] {
        ["Authorization: Bearer \(TokenMint(.hs256, key: Self.secret).token(claims))"]
    }

    private func probe(_ settings: (inout EndpointPolicy.Settings) -> Void = { _ in }) throws -> EndpointProbe {
        try EndpointProbe(contract: Contract(Self.contract), tokens: verifier(), settings: settings)
    }

    private func trusted(_ record: [String: Any]) -> [String: String] {
        (record["trusted"] as? [String: Any])?.compactMapValues { $0 as? String } ?? [:]
    }

    /// Events queued as user A, as nobody and as user B, flushed together with B's token.
    private static let mixed = Batch.body(
        Batch.event("as-a", ["user_id": #""user-a""#]),
        Batch.event("as-nobody", ["user_id": "null"]),
        Batch.event("absent"),
        Batch.event("as-b", ["user_id": #""user-b""#])
    )

    @Test func `a token proves its own user and nobody else`() async throws {
        let probe = try probe()
        let answer = try await probe.post(Self.mixed, headers: bearer(#"{"sub":"user-b","account_id":"acct-b"}"#))
        #expect(answer.status == 200)
        #expect(answer.body.contains(#""rejected":[]"#))
        let records = try probe.spooled()
        #expect(records.map(trusted) == [[:], [:], [:], ["user_id": "user-b", "account_id": "acct-b"]])
        #expect(records.allSatisfy { ($0["envelope"] as? [String: Any])?["anonymous_id"] as? String == "anon-1" })
        #expect(probe.metric("sluice_endpoint_user_mismatch_total") == 1)
    }

    @Test func `another user's id may be kept as claimed, and an absent one assigned`() async throws {
        let probe = try probe {
            $0.unprovenUser = .claimed
            $0.assignsUser = true
        }
        _ = try await probe.post(Self.mixed, headers: bearer(#"{"sub":"user-b"}"#))
        let b = ["user_id": "user-b"]
        #expect(try probe.spooled().map(trusted) == [["claimed_user_id": "user-a"], b, b, b])
    }

    @Test func `without a token nobody is proven`() async throws {
        let probe = try probe()
        _ = try await probe.post(Self.mixed, headers: ["X-User-ID: user-a", "X-Account-ID: acct"])
        #expect(try probe.spooled().map(trusted) == [[:], [:], [:], [:]])
        #expect(probe.metric("sluice_endpoint_unproven_users_total") == 2)
    }

    @Test(
        arguments: [
            "Bearer not-a-token", "Bearer ", "Basic dXNlcjpwYXNz", "Bearer a.b.c", "bearer",
        ]
    )
    func `a token that is none is 401 and nothing is taken`(value: String) async throws {
        let probe = try probe()
        let answer = try await probe.post(Self.mixed, headers: ["Authorization: \(value)"])
        #expect(answer.status == 401)
        #expect(answer.member("code") == "invalid_token")
        #expect(answer.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
        #expect(try probe.spooled().isEmpty)
    }

    @Test func `a trusted proxy may name the user, others may not`() async throws {
        for (proxies, expected) in [
            (["127.0.0.0/8"], ["user_id": "user-b", "account_id": "acct-b"]), (["10.0.0.0/8"], [:]),
        ] {
            let probe = try probe { $0.trustedProxies = NetworkList(parsing: proxies) ?? NetworkList() }
            let headers = ["X-User-ID: user-b", "X-Account-ID: acct-b", "X-Forwarded-For: 203.0.113.9"]
            #expect(try await probe.post(Self.mixed, headers: headers).status == 200)
            #expect(try probe.spooled().map(trusted) == [[:], [:], [:], expected])
        }
    }

    @Test func `an e-mail address from a proxy is nobody`() async throws {
        let probe = try probe { $0.trustedProxies = NetworkList(parsing: ["127.0.0.1"]) ?? NetworkList() }
        let event = Batch.body(Batch.event("e"))
        #expect(try await probe.post(event, headers: ["X-User-ID: ada@example.com"]).status == 200)
        #expect(try probe.spooled().map(trusted) == [[:]])
    }

    @Test func `a server's fact is refused from a phone and taken from a backend`() async throws {
        let fact =
            #"{"events":[{"event":"purchase_completed","event_id":"p1","occurred_at":1796000000,"user_id":"user-a","#
            + #""schema_version":1,"properties":{"amount_cents":999}}]}"#
        let probe = try probe()
        #expect(try await probe.post(fact).body.contains(#""code":"server_only_event""#))
        #expect(
            try await probe.post(fact, headers: bearer(#"{"sub":"user-a"}"#)).body.contains(
                #""code":"server_only_event""#
            )
        )
        let answer = try await probe.post(fact, headers: bearer(#"{"sub":"billing","role":["reader","server"]}"#))
        #expect(answer.body.contains(#""accepted":["p1"]"#))
        let records = try probe.spooled()
        #expect(records.count == 1)
        #expect(trusted(records[0])["user_id"] == "user-a")
        #expect((records[0]["envelope"] as? [String: Any])?["platform"] as? String == "server")
    }

    @Test func `a client chooses its collection only when something vouches for it`() async throws {
        let settings = { (settings: inout EndpointPolicy.Settings) in
            settings.clients = [.init(name: "ios-prod", collection: "ios_events", platform: "ios")]
            settings.trustedProxies = NetworkList(parsing: ["127.0.0.2"]) ?? NetworkList()
            settings.environment = "staging"
        }
        let probe = try probe(settings)
        let event = Batch.body(Batch.event("e", ["platform": #""android""#]))
        for headers in [[], ["X-Client-ID: ios-prod"], ["X-Client-ID: unknown"]] + [
            bearer(#"{"sub":"u","client":"ios-prod"}"#)
        ] {
            #expect(try await probe.post(event, headers: headers).status == 200)
        }
        let records = try probe.spooled()
        #expect(
            records.map { $0["collection"] as? String } == [
                "mobile_events", "mobile_events", "mobile_events", "ios_events",
            ]
        )
        #expect(records.map { trusted($0)["client"] } == [nil, "ios-prod", nil, "ios-prod"])
        #expect(
            records.map { ($0["envelope"] as? [String: Any])?["platform"] as? String } == [
                "android", "ios", "android", "ios",
            ]
        )
        #expect(records.allSatisfy { $0["environment"] as? String == "staging" })
        #expect(probe.metric(#"sluice_endpoint_client_events_total{client="ios-prod"}"#) == 2)
    }
}

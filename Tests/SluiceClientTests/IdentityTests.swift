// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

struct IdentityTests {
    private func ids(_ envelope: String) throws -> (anonymous: String, user: String?, version: String) {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(envelope.utf8)) as? [String: Any])
        return (
            try #require(object["anonymous_id"] as? String), object["user_id"] as? String,
            try #require(object["app_version"] as? String)
        )
    }

    @Test func `signing in keeps the anonymous id, and changes no event from before`() async throws {
        let fixture = try ClientFixture()
        let client = try await fixture.consented()
        await client.track("opened")
        try await client.signIn(user: "usr_42")
        await client.track("signup_completed")
        let events = try fixture.queued().map(ids)
        #expect(events.map(\.user) == [nil, "usr_42"])
        #expect(events[0].anonymous == events[1].anonymous)
        // A new launch knows both.
        await (try fixture.launch()).track("opened")
        let last = try ids(try #require(try fixture.queued().last))
        #expect(last.user == "usr_42" && last.anonymous == events[0].anonymous)
    }

    @Test(arguments: [SluiceIdentityPolicy.Transition.retain, .rotate, .clear])
    func `signing out treats the anonymous id as the policy says`(policy: SluiceIdentityPolicy.Transition) async throws
    {
        let fixture = try ClientFixture()
        fixture.configuration.identity.onSignOut = policy
        let client = try await fixture.consented()
        try await client.signIn(user: "usr_1")
        await client.track("a")
        await client.signOut()
        let between = await client.diagnostics()
        await client.track("b")
        let events = try fixture.queued().map(ids)
        #expect(events.map(\.user) == ["usr_1", nil])
        #expect((events[0].anonymous == events[1].anonymous) == (policy == .retain))
        #expect((between.anonymousID == nil) == (policy == .clear))
        // Nothing queued is lost.
        await client.flush()
        #expect(fixture.endpoint.batches.flatMap { $0 }.count == 2)
    }

    @Test func `another user's sign-in is a sign-out first`() async throws {
        let fixture = try ClientFixture()
        let client = try await fixture.consented()
        try await client.signIn(user: "usr_1")
        await client.track("a")
        try await client.signIn(user: "usr_1")
        await client.track("b")
        try await client.signIn(user: "usr_2")
        await client.track("c")
        let events = try fixture.queued().map(ids)
        #expect(events.map(\.user) == ["usr_1", "usr_1", "usr_2"])
        #expect(events[0].anonymous == events[1].anonymous && events[1].anonymous != events[2].anonymous)
    }

    @Test(arguments: ["", "a@b.example", "a\u{0}b", String(repeating: "x", count: 101), "a%40b.example"])
    func `an id that is not opaque is refused, and nothing changes`(user: String) async throws {
        let client = try await ClientFixture().consented()
        try await client.signIn(user: "usr_1")
        await #expect(throws: SluiceError.self) { try await client.signIn(user: user) }
        #expect(await client.diagnostics().userID == "usr_1")
    }

    /// Case C88.
    @Test func `a batch holds one user's events and travels with that user's token or none`() async throws {
        let fixture = try ClientFixture()
        fixture.configuration.userToken = { $0 == "usr_2" ? nil : "token-of-\($0)" }
        let client = try await fixture.consented()
        await client.track("before")
        for user in ["usr_1", "usr_2", "usr_1"] {
            try await client.signIn(user: user)
            await client.track("tapped")
        }
        fixture.clock.advance(milliseconds: 86_400_000)
        fixture.configuration.appVersion = "9.9.9"
        let launched = try fixture.launch()
        await launched.flush()
        let requests = fixture.endpoint.requests
        #expect(requests.map { $0.headers["Authorization"] } == [nil, "Bearer token-of-usr_1", nil])
        #expect(requests.map { $0.events.map { $0["user_id"] as? String } } == [[nil], ["usr_1", "usr_1"], ["usr_2"]])
        for event in requests.flatMap(\.events) {
            #expect(event["occurred_at"] as? Int == 1_796_000_000)
            #expect(event["app_version"] as? String == "4.8.0")
            #expect(event["client_sent_at"] == nil)
        }
        #expect(requests.allSatisfy { $0.json["client_sent_at"] as? Int == 1_796_086_400 })
    }

    @Test func `a refused token holds up its user only, until the user signs in again`() async throws {
        let fixture = try ClientFixture(
            FakeEndpoint { _, request in
                request.headers["Authorization"] == "Bearer old" ? .refusal(401) : .accepting(request.ids)
            }
        )
        let token = Lock("old")
        fixture.configuration.userToken = { _ in token.withLock { $0 } }
        let client = try await fixture.consented()
        try await client.signIn(user: "usr_1")
        await client.track("a")
        await client.signOut()
        await client.track("b")
        let result = await client.flush()
        #expect(result.accepted == 1 && result.requests == 2)
        await client.flush()
        #expect(fixture.endpoint.requests.count == 2)
        token.withLock { $0 = "new" }
        try await client.signIn(user: "usr_1")
        #expect(await client.flush().accepted == 1)
    }

    @Test func `a token that cannot be had lets its user's events wait`() async throws {
        struct Locked: Error {}
        let fixture = try ClientFixture()
        let isLocked = Lock(true)
        fixture.configuration.userToken = { _ in
            if isLocked.withLock({ $0 }) { throw Locked() }
            return nil
        }
        let client = try await fixture.consented()
        try await client.signIn(user: "usr_1")
        await client.track("a")
        #expect(await client.flush().requests == 0)
        isLocked.withLock { $0 = false }
        fixture.waitOut()
        #expect(await client.flush().accepted == 1)
    }
}

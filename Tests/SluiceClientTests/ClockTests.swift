// SPDX-License-Identifier: Apache-2.0
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

struct ClockTests {
    /// The endpoint's clock is right.
    private static let date = "Mon, 30 Nov 2026 07:20:00 GMT"
    private static let right: Int64 = 1_796_023_200_000

    private func fixture(at wall: Int64 = right) throws -> ClientFixture {
        try ClientFixture(FakeEndpoint { .accepting($1.ids, date: Self.date) }, wallMilliseconds: wall)
    }

    @Test func `a low-value event that has expired is not sent, and is removed and counted once the clock is proven`()
        async throws
    {
        let fixture = try fixture()
        let client = try await fixture.consented()
        await client.track("heartbeat", lifetime: .seconds(60))
        fixture.clock.advance(milliseconds: 60_000)
        // Nothing proves the clock yet.
        await client.flush()
        #expect(fixture.endpoint.requests.isEmpty)
        #expect(try fixture.queued().count == 1)
        await client.track("tapped")
        await client.flush()
        #expect(fixture.endpoint.requests.count == 1)
        #expect(fixture.endpoint.requests[0].events.map { $0["event"] as? String } == ["tapped"])
        #expect(try fixture.queued().isEmpty)
        #expect(await client.diagnostics().drops == [.expired: 1])
    }

    @Test func `a clock that jumps ahead expires nothing, and nothing is stuck when it comes back`() async throws {
        let fixture = try fixture()
        let client = try await fixture.consented()
        await client.track("heartbeat", lifetime: .seconds(3600))
        fixture.clock.stepWall(milliseconds: 10 * 365 * 86_400_000)
        await client.track("tapped")
        await client.flush()
        #expect(try fixture.queued().map(TrackingTests.name) == ["heartbeat"])
        fixture.clock.stepWall(milliseconds: -10 * 365 * 86_400_000)
        await client.flush()
        #expect(try fixture.queued().isEmpty)
        #expect(await client.diagnostics().drops.isEmpty)
    }

    @Test func `a pause that was set by a clock far ahead does not last`() async throws {
        let fixture = try ClientFixture(FakeEndpoint(then: [.refusal(503, retryAfter: "60")]))
        fixture.clock.stepWall(milliseconds: 365 * 86_400_000)
        let client = try await fixture.consented()
        await client.track("tapped")
        #expect(await client.flush().end == .waiting)
        fixture.clock.stepWall(milliseconds: -365 * 86_400_000)
        #expect(await client.flush().accepted == 1)
    }

    @Test(arguments: [0, 1_000_000_000_000, 4_000_000_000_000])
    func `the time of occurrence is the device's, whatever that is, and never changes`(wall: Int64) async throws {
        let fixture = try fixture(at: wall)
        let client = try await fixture.consented()
        await client.track("tapped")
        fixture.clock.stepWall(milliseconds: Self.right - wall)
        await client.flush()
        let request = try #require(fixture.endpoint.requests.first)
        #expect(request.events.first?["occurred_at"] as? Int == Int(wall / 1000))
        #expect(request.json["client_sent_at"] as? Int == Int(Self.right / 1000))
    }

    @Test func `what is left after a delivery and older than the queue keeps anything is removed and counted`()
        async throws
    {
        let fixture = try ClientFixture(
            FakeEndpoint { number, request in
                let user = request.headers["Authorization"]
                return user == nil ? .accepting(request.ids, date: Self.date) : .refusal(401)
            },
            wallMilliseconds: Self.right - 31 * 86_400_000
        )
        fixture.configuration.userToken = { _ in "refused" }
        let client = try await fixture.consented()
        try await client.signIn(user: "usr_1")
        await client.track("old")
        await client.signOut()
        fixture.clock.advance(milliseconds: 31 * 86_400_000)
        await client.track("young")
        await client.flush()
        #expect(try fixture.queued().isEmpty)
        #expect(await client.diagnostics().drops == [.expired: 1])
    }
}

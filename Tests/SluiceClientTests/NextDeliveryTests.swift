// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceTestSupport
import Testing

/// What the system's scheduler of background work is asked for.
struct NextDeliveryTests {
    private func seconds(_ client: SluiceClient) async -> Double? { await client.nextDelivery()?.timeIntervalSince1970 }

    @Test func `nothing is due before consent, without events, and after a withdrawal`() async throws {
        let fixture = try ClientFixture()
        let client = try fixture.launch()
        #expect(await client.nextDelivery() == nil)
        try await client.setConsent([.analytics])
        #expect(await client.nextDelivery() == nil)
        await client.track("tapped")
        #expect(await seconds(client) == 1_796_000_000)
        try await client.setConsent([])
        #expect(await client.nextDelivery() == nil)
    }

    @Test func `an event is due at once, and after a refusal when the endpoint said so`() async throws {
        let fixture = try ClientFixture(FakeEndpoint(then: [.refusal(429, retryAfter: "600")]))
        let client = try await fixture.consented()
        await client.track("tapped")
        await client.flush()
        #expect(await seconds(client) == 1_796_000_600)
        #expect(await seconds(try fixture.launch()) == 1_796_000_600)
        fixture.clock.advance(milliseconds: 600_001)
        await client.flush()
        #expect(await client.nextDelivery() == nil)
    }
}

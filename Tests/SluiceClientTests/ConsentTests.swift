// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

struct ConsentTests {
    @Test func `before anything is granted nothing is created, written or sent`() async throws {
        let fixture = try ClientFixture()
        let client = try fixture.launch()
        #expect(await client.track("tapped").eventID == nil)
        try await client.signIn(user: "usr_42")
        await client.signOut()
        #expect(await client.flush().end == .noConsent)
        _ = await client.diagnostics()
        try await client.setConsent([])
        #expect(await client.track("tapped").eventID == nil)
        #expect(await client.flush().end == .noConsent)
        #expect(fixture.endpoint.requests.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: fixture.folder.path("client")))
    }

    @Test func `a user who signed in before consenting is known afterwards, also after a denial`() async throws {
        let fixture = try ClientFixture()
        let client = try fixture.launch()
        try await client.signIn(user: "usr_42")
        try await client.setConsent([])
        try await client.setConsent([.analytics])
        await client.track("tapped")
        #expect(try fixture.queued().first?.contains(#""user_id":"usr_42""#) == true)
    }

    @Test func `consent is by purpose, and withdrawing one removes its events and no others`() async throws {
        let fixture = try ClientFixture()
        let client = try await fixture.consented([.analytics, "marketing"])
        await client.track("a")
        await client.track("b", purpose: "marketing")
        await client.track("c")
        #expect(await client.track("d", purpose: "research").eventID == nil)
        try await client.setConsent([.analytics])
        #expect(try fixture.queued().map(TrackingTests.name) == ["a", "c"])
        #expect(await client.track("e", purpose: "marketing").eventID == nil)
        #expect(await client.diagnostics().drops == [.consent: 1])
        // Granting removes nothing and begins new collection.
        try await client.setConsent([.analytics, "research"])
        await client.track("f", purpose: "research")
        #expect(try fixture.queued().map(TrackingTests.name) == ["a", "c", "f"])
        // The count travels with the next batch.
        await client.flush()
        #expect(fixture.endpoint.requests.first?.drops == ["consent": 1])
        #expect(await client.diagnostics().drops.isEmpty)
    }

    @Test func `withdrawing everything clears the identity, quarantine included, and a new launch knows it`()
        async throws
    {
        let fixture = try ClientFixture(FakeEndpoint { .accepting([], rejecting: $1.ids.indices.map { ($0, "c") }) })
        let client = try await fixture.consented()
        try await client.signIn(user: "usr_SECRET")
        await client.track("refused", ["text": "SECRET"])
        await client.flush()
        #expect(await client.diagnostics().quarantined == ["c": 1])
        await client.track("queued", ["text": "SECRET"])
        let before = await client.diagnostics().anonymousID
        try await client.setConsent([])
        let seen = await client.diagnostics()
        #expect(seen.anonymousID == nil && seen.userID == nil && seen.queuedEvents == 0 && seen.quarantined.isEmpty)
        // Nor do the bytes stay anywhere in the folder.
        for name in try FileSystem.names(in: fixture.folder.path("client")) {
            let path = fixture.folder.path("client/\(name)")
            let bytes = try FileSystem.contents(of: path, limit: 1 << 24)
            #expect(!String(decoding: bytes, as: UTF8.self).contains("SECRET"), "\(name)")
        }
        let launched = try fixture.launch()
        #expect(await launched.track("tapped").eventID == nil)
        try await launched.setConsent([.analytics])
        await launched.track("tapped")
        let after = await launched.diagnostics()
        #expect(after.anonymousID != nil && after.anonymousID != before && after.userID == nil)
    }

    @Test(arguments: [SluiceIdentityPolicy.Transition.retain, .rotate, .clear])
    func `a withdrawal treats the identity as the policy says`(policy: SluiceIdentityPolicy.Transition) async throws {
        let fixture = try ClientFixture()
        fixture.configuration.identity.onWithdrawal = policy
        let client = try await fixture.consented([.analytics, "marketing"])
        try await client.signIn(user: "usr_42")
        await client.track("a")
        let before = await client.diagnostics().anonymousID
        try await client.setConsent(["marketing"])
        let after = await client.diagnostics()
        switch policy {
        case .retain: #expect(after.anonymousID == before && after.userID == "usr_42")
        case .rotate: #expect(after.anonymousID != before && after.anonymousID != nil && after.userID == nil)
        case .clear: #expect(after.anonymousID == nil && after.userID == nil)
        }
    }

    @Test func `consent lasts over launches without being set again`() async throws {
        let fixture = try ClientFixture()
        let client = try await fixture.consented()
        let id = await client.track("a").eventID
        let launched = try fixture.launch()
        #expect(await launched.track("b").eventID != nil)
        await launched.flush()
        #expect(fixture.endpoint.batches.first?.first == id)
    }

    @Test func `a withdrawal during a request stops the delivery, and nothing of it is sent again`() async throws {
        let asked = AsyncStream<Void>.makeStream()
        let fixture = try ClientFixture(
            FakeEndpoint { _, _ in
                asked.continuation.yield()
                try await Task.sleep(for: .seconds(600))
                throw FakeEndpoint.Unreachable()
            }
        )
        let client = try await fixture.consented()
        await client.track("a")
        async let flushed = client.flush()
        for await _ in asked.stream { break }
        try await client.setConsent([])
        #expect(await flushed.end == .cancelled)
        try await client.setConsent([.analytics])
        fixture.waitOut()
        #expect(await client.flush().end == .finished)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test func `a choice that cannot be written holds at once, is told, and is written later`() async throws {
        let fixture = try ClientFixture()
        let client = try await fixture.consented()
        await client.track("a")
        let other = try Database(fixture.file, creates: false)
        try other.run("BEGIN IMMEDIATE")
        await #expect(throws: SluiceError.self) { try await client.setConsent([]) }
        #expect(await client.track("b").eventID == nil)
        // Granting again does not bring back what the denial removes.
        await #expect(throws: SluiceError.self) { try await client.setConsent([.analytics]) }
        try other.run("COMMIT")
        fixture.clock.advance(milliseconds: 1001)
        await client.track("c")
        #expect(try fixture.queued().map(TrackingTests.name) == ["c"])
    }

    @Test func `another process's withdrawal is seen by the next call`() async throws {
        let fixture = try ClientFixture()
        let client = try await fixture.consented()
        await client.track("a")
        try await fixture.launch().setConsent([])
        #expect(await client.track("b") == .dropped(.consent, detail: "nobody has consented to analytics"))
        #expect(await client.diagnostics().anonymousID == nil)
    }
}

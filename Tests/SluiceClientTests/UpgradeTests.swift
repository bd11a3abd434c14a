// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

struct UpgradeTests {
    /// A file as the first release wrote it: three events, one of them sent and failed, one refused, one drop counted.
    private static let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Golden/version-1.sqlite")

    @Test func `a file of version 1 is taken as it is`() async throws {
        let fixture = try ClientFixture()
        let folder = URL(fileURLWithPath: fixture.folder.path("client"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: Self.golden, to: URL(fileURLWithPath: fixture.file))
        let envelopes = try fixture.queued()
        #expect(envelopes.count == 3)
        let client = try fixture.launch()
        let seen = await client.diagnostics()
        #expect(seen.queuedEvents == 3 && seen.quarantined == ["unsupported_event": 1] && seen.userID == "usr_42")
        #expect(seen.consent == [.analytics, "marketing"])
        #expect(await client.track("tapped").eventID != nil)
        fixture.waitOut()
        #expect(await client.flush().accepted == 4)
        let sent = fixture.endpoint.requests.map(\.text).joined()
        for envelope in envelopes { #expect(sent.contains(envelope)) }
        #expect(fixture.endpoint.requests.first?.drops == ["invalid": 1, "rejected": 1])
    }

    @Test func `a file of version 0 is migrated, and its events wait for consent`() async throws {
        let fixture = try ClientFixture()
        let folder = URL(fileURLWithPath: fixture.folder.path("client"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let envelope = #"{"anonymous_id":"a","event":"old","event_id":"old-1","properties":{"text":"é"}}"#
        do {
            let old = try Database(fixture.file, creates: true)
            try old.run("CREATE TABLE events (id INTEGER PRIMARY KEY, event_id TEXT, body TEXT, created_at INTEGER)")
            try old.run("INSERT INTO events VALUES (1, 'old-1', ?, 1790000000)", .text(envelope))
            try old.run("INSERT INTO events VALUES (2, 'old-1', ?, 1790000001)", .text(envelope))
        }
        let client = try fixture.launch()
        #expect(await client.flush().end == .noConsent)
        #expect(try fixture.queued() == [envelope])
        try await client.setConsent([.analytics])
        #expect(await client.flush().accepted == 1)
        #expect(fixture.endpoint.requests.first?.text.contains(envelope) == true)
    }

    @Test func `a file of version 0 is emptied by a denial`() async throws {
        let fixture = try ClientFixture()
        try FileManager.default.createDirectory(
            at: URL(fileURLWithPath: fixture.folder.path("client")),
            withIntermediateDirectories: true
        )
        do {
            let old = try Database(fixture.file, creates: true)
            try old.run("CREATE TABLE events (id INTEGER PRIMARY KEY, event_id TEXT, body TEXT, created_at INTEGER)")
            try old.run("INSERT INTO events VALUES (1, 'old-1', '{}', 1790000000)")
        }
        let client = try fixture.launch()
        try await client.setConsent([])
        #expect(try fixture.queued().isEmpty)
    }
}

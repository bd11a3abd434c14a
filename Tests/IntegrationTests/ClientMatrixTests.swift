// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

/// The client library against the real endpoint: what phones go through, one test each.
@Suite(.timeLimit(.minutes(3)))
struct ClientMatrixTests {
    private let folder = TemporaryFolder()
    private let app = ClientOnEndpoint()

    private func endpoint(_ settings: [String: String] = [:]) throws -> EndpointProcess {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        return try EndpointProcess(spool: folder.path("spool"), contract: contract, settings: settings)
    }

    @Test func `clean install: an event arrives as it was tracked, and its row is gone`() async throws {
        let endpoint = try endpoint()
        let client = try await app.consented(port: endpoint.port)
        let id = try #require(await client.track("screen_view", ["screen": "hö\"me", "number": 1e21]).eventID)
        #expect(await client.flush().accepted == 1)
        #expect(await client.diagnostics().queuedEvents == 0)
        let record = try #require(try endpoint.records()[id]?.first)
        #expect(record.contains(#""screen":"hö\"me""#) && record.contains(#""number":1e+21"#), "\(record)")
        #expect(record.contains(#""sequence":0"#) && record.contains(#""client_sent_at":"#))
    }

    @Test func `upgrade: events of the oldest version's file arrive`() async throws {
        let endpoint = try endpoint()
        let client = try app.launch(port: endpoint.port)
        let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("SluiceClientTests/Golden/version-1.sqlite")
        try FileManager.default.createDirectory(
            atPath: app.folder.path("client"),
            withIntermediateDirectories: true
        )
        try FileManager.default.copyItem(atPath: golden.path, toPath: app.folder.path("client/sluice-client.sqlite"))
        #expect(await client.flush().accepted == 3)
        #expect(try endpoint.records().count == 3)
    }

    @Test func `offline launch and later reconnect: ids and times stay`() async throws {
        let closed = LoopbackSocket.bound(backlog: nil)
        let offline = try await app.consented(port: closed.port)
        var ids: [String] = []
        for _ in 0..<3 { ids.append(try #require(await offline.track("screen_view").eventID)) }
        let tracked = SystemClock.system.wallSeconds
        #expect(await offline.flush().end == .waiting)
        let endpoint = try endpoint()
        app.shiftClock(seconds: 20)
        let online = try app.launch(port: endpoint.port)
        #expect(await online.flush().accepted == 3)
        let records = try endpoint.records()
        #expect(Set(records.keys) == Set(ids))
        for record in records.values.joined() {
            let occurred = try #require(record.between("\"occurred_at\":", ",").flatMap { Int($0) })
            #expect(abs(occurred - tracked) <= 2)
        }
    }

    @Test func `backgrounded during delivery: the same id arrives again, and is one event`() async throws {
        let endpoint = try endpoint()
        let client = try await app.consented(port: endpoint.port)
        let id = try #require(await client.track("screen_view").eventID)
        // The endpoint has the request, and its answer never comes.
        kill(endpoint.process.id, SIGSTOP)
        let flush = Task { await client.flush() }
        while app.begun.withLock({ $0 }) == 0 { await Task.yield() }
        flush.cancel()
        #expect(await flush.value.end == .cancelled)
        kill(endpoint.process.id, SIGCONT)
        #expect(await client.flush().accepted == 1)
        let copies = try #require(try endpoint.records()[id])
        #expect((1...2).contains(copies.count))
        #expect(Set(copies.map { $0.envelope }).count == 1)
    }

    @Test func `an expired low-value event is not sent, and its loss is told`() async throws {
        let endpoint = try endpoint()
        let client = try await app.consented(port: endpoint.port)
        let expired = try #require(await client.track("screen_view", lifetime: .seconds(60)).eventID)
        app.shiftClock(seconds: 61)
        let fresh = try #require(await client.track("screen_view").eventID)
        #expect(await client.flush().accepted == 1)
        #expect(Set(try endpoint.records().keys) == [fresh])
        #expect(await client.diagnostics().drops == [.expired: 1])
        #expect(fresh != expired)
    }

    @Test func `a malformed property costs itself, and an event that the contract refuses goes to quarantine for good`()
        async throws
    {
        let endpoint = try endpoint()
        let client = try await app.consented(port: endpoint.port)
        let good = try #require(await client.track("screen_view", ["number": .number(.nan), "screen": "a"]).eventID)
        await client.track("screen_view", ["screen": 5])
        await client.track("screen_view", ["screen": "write to a@b.example"])
        await client.track("purchase_completed", ["amount_cents": 1])
        let result = await client.flush()
        #expect(result.accepted == 1 && result.rejected == 3)
        #expect(Set(try endpoint.records().keys) == [good])
        let seen = await client.diagnostics()
        #expect(seen.quarantined == ["invalid_property": 1, "email_like_value": 1, "server_only_event": 1])
        app.waitOut()
        #expect(await client.flush().requests == 0)
    }

    @Test func `consent denied, granted and withdrawn`() async throws {
        let endpoint = try endpoint()
        let client = try app.launch(port: endpoint.port)
        try await client.setConsent([])
        await client.track("screen_view", ["screen": "denied"])
        try await client.setConsent([.analytics])
        await client.track("screen_view", ["screen": "granted"])
        #expect(await client.flush().accepted == 1)
        await client.track("screen_view", ["screen": "withdrawn"])
        try await client.setConsent([])
        await client.track("screen_view", ["screen": "denied again"])
        #expect(await client.flush().end == .noConsent)
        try await client.setConsent([.analytics])
        #expect(await client.flush().requests == 0)
        let records = try endpoint.records().values.joined()
        #expect(records.count == 1 && records.allSatisfy { $0.contains("granted") })
    }

    @Test func `anonymous to authenticated: events from before stay nobody's, later ones are proven by the token`()
        async throws
    {
        let secret = String(repeating: "0123456789abcdef", count: 3)
        let key = try folder.write(secret, to: "key")
        let endpoint = try endpoint(["SLUICE_AUTH_ALGORITHM": "HS256", "SLUICE_AUTH_KEY_FILES": key])
        let mint = TokenMint(.hs256, key: Array(secret.utf8))
        let isGood = Lock(false)
        app.configure {
            $0.userToken = { user in isGood.withLock { $0 } ? mint.token(#"{"sub":"\#(user)"}"#) : "expired" }
        }
        let client = try await app.consented(port: endpoint.port)
        let before = try #require(await client.track("screen_view").eventID)
        try await client.signIn(user: "usr_42")
        let after = try #require(await client.track("screen_view").eventID)
        #expect(await client.flush().accepted == 1)
        #expect(await client.diagnostics().lastErrors == ["unauthorized": 1])
        isGood.withLock { $0 = true }
        try await client.signIn(user: "usr_42")
        #expect(await client.flush().accepted == 1)
        let records = try endpoint.records()
        let first = try #require(records[before]?.first)
        let second = try #require(records[after]?.first)
        #expect(!first.contains("usr_42") && second.contains("usr_42"))
        #expect(first.between("\"anonymous_id\":\"", "\"") == second.between("\"anonymous_id\":\"", "\""))
    }

    @Test(arguments: [-400 * 86400, 400 * 86400])
    func `device clock far ahead and behind: the endpoint gets both times, and nothing is lost`(shift: Int) async throws
    {
        let endpoint = try endpoint()
        app.shiftClock(seconds: shift)
        let client = try await app.consented(port: endpoint.port)
        let id = try #require(await client.track("screen_view").eventID)
        #expect(await client.flush().accepted == 1)
        let record = try #require(try endpoint.records()[id]?.first)
        let occurred = try #require(record.between("\"occurred_at\":", ",").flatMap { Int($0) })
        #expect(abs(occurred - SystemClock.system.wallSeconds - shift) < 60)
        #expect(record.contains("\"client_sent_at\":"))
        #expect(record.contains("timestamp_corrected") || record.contains("occurred_at_too_old"), "\(record)")
    }

    @Test func `429: what the endpoint asks for is waited for`() async throws {
        let endpoint = try endpoint(["SLUICE_RATE_LIMIT_ANONYMOUS": "0.01", "SLUICE_RATE_LIMIT_ANONYMOUS_BURST": "1"])
        let client = try await app.consented(port: endpoint.port)
        await client.track("screen_view")
        #expect(await client.flush().accepted == 1)
        await client.track("screen_view")
        #expect(await client.flush().end == .waiting)
        #expect(await client.diagnostics().lastErrors == ["throttled": 1])
        #expect(await client.flush().requests == 0)
        app.waitOut()
        #expect(await client.diagnostics().deliveryPausedUntil == nil)
    }

    @Test func `413: batches shrink until they fit`() async throws {
        let endpoint = try endpoint(["SLUICE_ENDPOINT_MAX_EVENTS": "7"])
        let client = try await app.consented(port: endpoint.port)
        for _ in 0..<30 { await client.track("screen_view") }
        while await client.flush().accepted > 0 {}
        #expect(try endpoint.records().count == 30)
    }

    @Test func `404: a wrong address keeps everything`() async throws {
        let endpoint = try endpoint()
        let lost = try app.launch(port: endpoint.port, path: "/somewhere/else")
        try await lost.setConsent([.analytics])
        await lost.track("screen_view")
        #expect(await lost.flush().end == .waiting)
        #expect(await lost.diagnostics().lastErrors == ["misdirected": 1])
        app.waitOut()
        #expect(await (try app.launch(port: endpoint.port)).flush().accepted == 1)
    }

    @Test func `no request and no file holds an API key, and drop counts arrive`() async throws {
        let endpoint = try endpoint()
        let server = ScriptedServer([.status(503)])
        defer { server.stop() }
        let client = try await app.consented(port: server.port)
        await client.track("Not A Name")
        await client.track("screen_view")
        await client.flush()
        let request = try #require(server.requests.first)
        let text = String(decoding: request.bytes, as: UTF8.self).lowercased()
        for word in ["api_key", "apikey", "collection", "graphjson", "cookie"] { #expect(!text.contains(word)) }
        #expect(text.contains(#""drops":{"invalid":1}"#))
        app.waitOut()
        let launched = try app.launch(port: endpoint.port)
        #expect(await launched.flush().accepted == 1)
        #expect(await launched.diagnostics().drops.isEmpty)
    }
}

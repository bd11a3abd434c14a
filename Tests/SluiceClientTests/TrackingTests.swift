// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceTestSupport
import Testing

struct TrackingTests {
    @Test func `an event is in the file when track returns, with everything attached`() async throws {
        let fixture = try ClientFixture()
        fixture.configuration.schemaVersion = 2
        let client = try await fixture.consented()
        try await client.setExperiments(["new_export": "b"])
        try await client.signIn(user: "usr_42")
        let result = await client.track("report_exported", ["report_type": "funnel"])
        let id = try #require(result.eventID)
        #expect(result == .persisted(eventID: id))
        let envelope = try #require(try fixture.queued().first)
        #expect(envelope.contains(#""event_id":"\#(id)""#))
        #expect(envelope.contains(#""occurred_at":1796000000,"#))
        #expect(envelope.contains(#""app_version":"4.8.0","build_number":"842","#))
        #expect(envelope.contains(#""experiments":{"new_export":"b"}"#))
        #expect(
            envelope.contains(
                #""platform":"ios","properties":{"report_type":"funnel"},"schema_version":2,"sequence":0"#
            )
        )
        #expect(envelope.contains(#""user_id":"usr_42""#))
    }

    @Test func `events count up in a session, and a new one begins after a long pause, at a sign-out and at a launch`()
        async throws
    {
        let fixture = try ClientFixture()
        let client = try await fixture.consented()
        func next(_ client: SluiceClient) async throws -> (String, Int) {
            await client.track("tapped")
            let data = Data(try #require(try fixture.queued().last).utf8)
            let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            return (try #require(object["session_id"] as? String), try #require(object["sequence"] as? Int))
        }
        let first = try await next(client)
        fixture.clock.advance(milliseconds: 1_799_000)
        #expect(try await next(client) == (first.0, 1))
        fixture.clock.advance(milliseconds: 1_801_000)
        let second = try await next(client)
        #expect(second.0 != first.0 && second.1 == 0)
        await client.signOut()
        let third = try await next(client)
        #expect(third.0 != second.0 && third.1 == 0)
        let launched = try await next(try fixture.launch())
        #expect(launched.0 != third.0 && launched.1 == 0)
    }

    @Test func `what breaks a rule is dropped with its reason, and counted`() async throws {
        let fixture = try ClientFixture()
        fixture.configuration.limits.eventBytes = 1000
        let client = try await fixture.consented()
        let many = Dictionary(uniqueKeysWithValues: (0..<65).map { ("p\($0)", SluiceValue.bool(true)) })
        let results = [
            await client.track("Tapped"), await client.track(""), await client.track("tapped", many),
            await client.track("tapped", ["long": .string(String(repeating: "a", count: 1000))]),
        ]
        let reasons: [DropReason] = results.compactMap { if case .dropped(let reason, _) = $0 { reason } else { nil } }
        #expect(reasons == [.invalid, .invalid, .invalid, .tooLarge])
        #expect(await client.diagnostics().drops == [.invalid: 3, .tooLarge: 1])
        #expect(try fixture.queued().isEmpty)
    }

    @Test func `a malformed property costs itself, not its event`() async throws {
        let fixture = try ClientFixture()
        let client = try await fixture.consented()
        let result = await client.track("tapped", ["ratio": .number(.infinity), "good": 1])
        #expect(result.eventID != nil)
        #expect(try fixture.queued().first?.contains(#""properties":{"good":1}"#) == true)
        #expect(await client.diagnostics().drops == [.malformedProperty: 1])
    }

    @Test func `the queue is bounded by count: what may expire goes first, then the oldest`() async throws {
        let fixture = try ClientFixture()
        fixture.configuration.limits.queuedEvents = 3
        let client = try await fixture.consented()
        await client.track("a")
        await client.track("low", lifetime: .seconds(60))
        for name in ["b", "c", "d"] { await client.track(name) }
        #expect(try fixture.queued().map(Self.name) == ["b", "c", "d"])
        let seen = await client.diagnostics()
        #expect(seen.drops == [.overflow: 2])
        #expect(seen.queuedEvents == 3)
    }

    @Test func `the queue is bounded by bytes`() async throws {
        let fixture = try ClientFixture()
        fixture.configuration.limits.eventBytes = 4000
        fixture.configuration.limits.queuedBytes = 10_000
        let client = try await fixture.consented()
        for number in 0..<50 {
            await client.track("event_\(number)", ["text": .string(String(repeating: "a", count: 40 * number))])
        }
        let seen = await client.diagnostics()
        let queued = try fixture.queued()
        #expect(seen.queuedBytes == queued.reduce(0) { $0 + $1.utf8.count })
        #expect(seen.queuedBytes <= 10_000)
        #expect(seen.drops == [.overflow: 50 - queued.count])
        #expect(queued.map(Self.name).last == "event_49")
    }

    @Test func `experiments and configurations that break a rule are refused by name`() async throws {
        let fixture = try ClientFixture()
        let client = try fixture.launch()
        let many = Dictionary(uniqueKeysWithValues: (0..<17).map { ("e\($0)", "a") })
        for wrong in [["A": "b"], ["a": ""], ["a": "x@y"], many] {
            await #expect(throws: SluiceError.self) { try await client.setExperiments(wrong) }
        }
        for change: (inout SluiceConfiguration) -> Void in [
            { $0.appVersion = "" }, { $0.buildNumber = "\n" }, { $0.clientID = "a\r\nb" },
            { $0.limits.batchEvents = 0 },
            { $0.endpoint = URL(fileURLWithPath: "/tmp") }, { $0.platform = String(repeating: "a", count: 51) },
        ] {
            var configuration = fixture.configuration
            change(&configuration)
            #expect(throws: SluiceError.self) { try SluiceClient(configuration) }
        }
    }

    static func name(_ envelope: String) -> String {
        guard let start = envelope.firstRange(of: "\"event\":\"")?.upperBound else { return "" }
        return String(envelope[start...].prefix { $0 != "\"" })
    }
}

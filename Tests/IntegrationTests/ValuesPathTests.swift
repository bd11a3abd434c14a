// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// From a phone's bytes through endpoint, spool and relay to what GraphJSON gets, with the real programs.
@Suite(.timeLimit(.minutes(2)))
struct ValuesPathTests {
    private static let inputs =
        #filePath.split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" } + "/SluiceEventsTests/Inputs"

    private let folder = TemporaryFolder()
    private let upstream = Upstream()

    private func handed(_ name: String) throws -> String {
        String(decoding: try FileSystem.contents(of: "\(Self.inputs)/\(name).json", limit: 1 << 20), as: UTF8.self)
    }

    /// Ends the endpoint and delivers what it took.
    private func deliver(_ endpoint: EndpointProcess) throws {
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
        let server = upstream.server()
        defer { server.stop() }
        let drained = try RelayProgram.drain(endpoint.spool, to: server.url)
        #expect(drained.code == 0, "\(drained.output) \(drained.errors)")
        try expectBalanced(endpoint.spool)
    }

    /// Cases C05, C06, C08, C11 and C14; bytes that are not UTF-8 (C07) are refused with the whole body.
    @Test func `what is accepted arrives character for character and digit for digit, and nothing else does`() throws {
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: "\(Self.inputs)/contract.json5",
            settings: ["SLUICE_CLOCK_MAX_AGE_ACTION": "off", "SLUICE_CLOCK_MAX_FUTURE_ACTION": "off"]
        )
        let client = try endpoint.client()
        let kept: [(name: String, text: String)] = [
            ("C05e-good-pair", "\"screen\":\"\u{1F600}\""),
            ("C06e-controls", "\"screen\":\"\\u001b[31m\\u0007\u{2028}\u{202E}\u{7F}\""),
            ("C08a-2p53p1", #""count":9007199254740993}"#), ("C08b-2p63m1", #""count":9223372036854775807}"#),
            ("C08c-2p63", #""count":9223372036854775808}"#), ("C08e-fraction", #""count":0.30000000000000004}"#),
            ("C08f-one-point-zero", #""count":1.0}"#), ("C08g-exp", #""count":1E5}"#),
        ]
        for (name, _) in kept {
            #expect(client.post(try handed(name))?.body.contains(#""rejected":[]"#) == true, "\(name)")
        }
        for name in [
            "C05a-high", "C05d-reversed", "C06a-nul-value", "C06b-nul-event-name", "C08d-30digits", "C11e-bool",
            "C11d-string", "C14a-object", "C14b-array", "C14c-null", "C14d-hidden",
        ] {
            let answer = try #require(client.post(try handed(name)))
            #expect(answer.status == 200 && answer.body.contains(#""accepted":[]"#), "\(name): \(answer.body)")
        }
        try deliver(endpoint)
        let arrived = upstream.takenEvents
        #expect(arrived.count == kept.count)
        for (name, text) in kept { #expect(arrived.contains { $0.contains(text) }, "\(name)") }
        let spooled = try SpooledLines.all(in: endpoint.spool).joined() + arrived.joined()
        #expect(!spooled.contains("email") && !spooled.contains("@"))
    }

    /// Case C13.
    @Test func `a wrong clock is corrected once and told, an offline week is left alone, and originals stay`() throws {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(spool: folder.path("spool"), contract: contract)
        let now = SystemClock.system.wallSeconds
        let client = try endpoint.client()
        func post(_ id: String, occurred: Int, sent: Int) throws {
            let event = EndpointProcess.event(id)
                .replacing("\"occurred_at\":\(SystemClock.system.wallSeconds)", with: "\"occurred_at\":\(occurred)")
                .replacing("\"occurred_at\":\(now)", with: "\"occurred_at\":\(occurred)")
            let answer = try #require(client.post("{\"client_sent_at\":\(sent),\"events\":[\(event)]}"))
            #expect(answer.body.contains("\"accepted\":[\"\(id)\"]"), "\(answer.body)")
        }
        let (years, hours, week) = (2 * 365 * 86_400, 3 * 3600, 7 * 86_400)
        try post("behind", occurred: now - years - 10, sent: now - years)
        try post("ahead", occurred: now + hours - 10, sent: now + hours)
        try post("offline", occurred: now - week, sent: now)
        try deliver(endpoint)

        func arrival(_ id: String) throws -> (request: Upstream.Request, event: String) {
            for request in upstream.takenRequests {
                if let place = request.ids.firstIndex(of: id) { return (request, request.events[place]) }
            }
            throw Missing(id: id)
        }
        let ahead = try arrival("ahead")
        // Ten seconds old when it was sent, and so it is here; the clock may tick meanwhile.
        #expect((now - 12...now + 60).contains(ahead.request.timestamp))
        #expect(ahead.event.contains("\"occurred_at\":\(now + hours - 10),"))
        #expect(ahead.event.contains(#""timestamp_corrected":true"#) && ahead.event.contains(#""received_at":"#))
        let offline = try arrival("offline")
        #expect(offline.request.timestamp == now - week)
        #expect(!offline.event.contains("timestamp_corrected") && offline.event.contains(#""received_at":"#))
        // Older than a month is set aside, whole, until somebody takes it as it is.
        #expect(upstream.taken.sorted() == ["ahead", "offline"])
        let shown = try RelayProgram.command("quarantine", "show", "--json", spool: endpoint.spool).output
        #expect(shown.contains(#""reason":"occurred_at_too_old""#))
        #expect(shown.contains("\"occurred_at\":\(now - years - 10),") && shown.contains(#""received_at":"#))
        let replayed = try RelayProgram.command(
            "quarantine",
            "replay",
            "--accept-clock",
            "--contract",
            contract,
            spool: endpoint.spool
        )
        #expect(replayed.code == 0, "\(replayed.output) \(replayed.errors)")
        let server = upstream.server()
        defer { server.stop() }
        #expect(try RelayProgram.drain(endpoint.spool, to: server.url).code == 0)
        #expect(try arrival("behind").event.contains("\"occurred_at\":\(now - years - 10),"))
    }

    /// Cases C20 and C32.
    @Test func `a batch that is sent again, also at once and also without its answer, counts once`() async throws {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(spool: folder.path("spool"), contract: contract)
        let bad = EndpointProcess.event("bad").replacing(#""platform":"ios""#, with: #""platform":"amiga""#)
        let good = (0..<3).map { EndpointProcess.event("good-\($0)") }
        func body(_ sent: Int) -> String {
            "{\"client_sent_at\":\(sent),\"events\":[\((good + [bad]).joined(separator: ","))]}"
        }
        let now = SystemClock.system.wallSeconds
        // Gone before the answer.
        let lost = try endpoint.client()
        let bytes = body(now)
        lost.socket.send(
            Array(
                ("POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(bytes.utf8.count)\r\n\r\n\(bytes)").utf8
            )
        )
        lost.socket.close()
        let port = endpoint.port
        let answers = try await withThrowingTaskGroup(of: RawAnswer?.self) { group in
            for number in 0..<2 {
                let text = body(now + number)
                group.addTask { try await onThread { EndpointClient(port: port)?.post(text) } }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for answer in answers {
            #expect(answer?.status == 200)
            #expect(answer?.body.contains(#""accepted":["good-0","good-1","good-2"]"#) == true)
            #expect(answer?.body.contains(#""rejected":[{"index":3,"event_id":"bad""#) == true)
        }
        // Another event under an id that is used is another event.
        let other = EndpointProcess.event("good-0", #","number":7"#)
        #expect(try endpoint.client().post("{\"events\":[\(other)]}")?.status == 200)
        try deliver(endpoint)
        #expect(upstream.taken.sorted() == ["good-0", "good-0", "good-1", "good-2"])
        #expect(upstream.takenEvents.count { $0.contains(#""number":7"#) } == 1)
    }

    struct Missing: Error { var id: String }
}

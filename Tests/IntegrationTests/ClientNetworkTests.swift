// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

/// Case C93 and what networks do, over real connections.
@Suite(.timeLimit(.minutes(2)))
struct ClientNetworkTests {
    private let app = ClientOnEndpoint()

    /// Answers one request as the step says; the event has to stay, and arrives at the next attempt.
    private func expectKept(_ step: ScriptedServer.Step, _ errorClass: String, deadline: Duration = .seconds(20))
        async throws
    {
        let server = ScriptedServer { $0 == 0 ? step : .decide { .accepting($0) } }
        defer { server.stop() }
        app.configure { $0.limits.requestDeadline = deadline }
        let client = try await app.consented(port: server.port)
        let id = try #require(await client.track("screen_view").eventID)
        await client.flush()
        let seen = await client.diagnostics()
        #expect(seen.queuedEvents == 1)
        #expect(seen.lastErrors == [errorClass: 1])
        app.waitOut()
        app.configure { _ in }
        #expect(await (try app.launch(port: server.port)).flush().accepted == 1)
        #expect(server.requests.last?.bodyText.contains(id) == true)
    }

    private static let own = "Content-Type: application/json"
    private static let refusal = #"{"request_id":"r","code":"c","detail":""}"#

    @Test(arguments: [
        (400, "invalid"), (401, "unauthorized"), (403, "unauthorized"), (404, "misdirected"), (415, "misdirected"),
        (429, "throttled"), (503, "throttled"), (500, "server_error"), (502, "server_error"), (418, "transport"),
    ])
    func `every refusal of the endpoint keeps the event`(status: Int, errorClass: String) async throws {
        try await expectKept(.status(status, headers: [Self.own], body: Self.refusal), errorClass)
    }

    @Test(arguments: [200, 201, 204, 400, 403, 511])
    func `a captive portal's page is no answer, whatever its status`(status: Int) async throws {
        let page = status == 204 ? "" : "<html>Please log in</html>"
        try await expectKept(
            .status(status, headers: ["Content-Type: text/html"], body: page),
            status == 511 ? "server_error" : "transport"
        )
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `no redirect is followed`(status: Int) async throws {
        let portal = ScriptedServer { _ in .decide { .accepting($0) } }
        defer { portal.stop() }
        try await expectKept(.status(status, headers: ["Location: \(portal.url)/login"], body: ""), "transport")
        #expect(portal.connectionCount == 0)
    }

    @Test func `broken connections and broken answers keep the event`() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        for step: ScriptedServer.Step in [
            .close, .reset, .resetInRequest(after: 20),
            .answer(Array("\(head)Content-Length: 500\r\n\r\n{\"requ".utf8), closes: true),
            .answer(Array("not HTTP\r\n\r\n".utf8), closes: true),
            .endless(head: Array("\(head)\r\n".utf8), piece: [UInt8](repeating: 0x20, count: 65536)),
        ] {
            try await expectKept(step, "transport")
        }
    }

    @Test(arguments: [0, 1, 2])
    func `a server that hangs is given up at the deadline`(kind: Int) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
        let steps: [ScriptedServer.Step] = [
            .stall, .ignore,
            .drip(Array(head.utf8) + [UInt8](repeating: 0x20, count: 10_000), every: .milliseconds(20)),
        ]
        let clock = ContinuousClock()
        let start = clock.now
        try await expectKept(steps[kind], "transport", deadline: .milliseconds(300))
        #expect(clock.now - start < .seconds(60))
    }

    @Test func `track returns while the server hangs, and cancelling ends the request`() async throws {
        let server = ScriptedServer([.stall])
        defer { server.stop() }
        app.configure { $0.limits.requestDeadline = .seconds(600) }
        let client = try await app.consented(port: server.port)
        await client.track("screen_view")
        let flush = Task { await client.flush() }
        while server.requests.isEmpty { await Task.yield() }
        for _ in 0..<100 { #expect(await client.track("screen_view").eventID != nil) }
        flush.cancel()
        #expect(await flush.value.end == .cancelled)
        #expect(await client.diagnostics().queuedEvents == 101)
    }

    @Test func `a flush that is cancelled at any moment ends, and the next one delivers`() async throws {
        let isHanging = Lock(true)
        let server = ScriptedServer { _ in .decide { isHanging.withLock { $0 } ? .stall : .accepting($0) } }
        defer { server.stop() }
        let client = try await app.consented(port: server.port)
        for moment in 0..<300 {
            await client.track("screen_view")
            isHanging.withLock { $0 = true }
            let begun = app.begun.withLock { $0 }
            let flush = Task { await client.flush() }
            while app.begun.withLock({ $0 }) == begun { await Task.yield() }
            for _ in 0..<moment % 60 { await Task.yield() }
            flush.cancel()
            #expect(await flush.value.end == .cancelled)
            isHanging.withLock { $0 = false }
            #expect(await client.flush().accepted == 1, "\(moment)")
        }
    }

    @Test func `one connection serves many requests`() async throws {
        let server = ScriptedServer { _ in .decide { .accepting($0) } }
        defer { server.stop() }
        let client = try await app.consented(port: server.port)
        for _ in 0..<300 { await client.track("screen_view") }
        #expect(await client.flush().accepted == 300)
        #expect(server.requests.count == 3)
        #expect(server.connectionCount == 1)
    }
}

extension ScriptedServer.Step {
    /// The endpoint's answer that takes everything.
    static func accepting(_ request: ReceivedRequest) -> ScriptedServer.Step {
        let ids = request.bodyText.split(separator: "\"event_id\":").dropFirst()
            .map { "\"" + $0.dropFirst().prefix { $0 != "\"" } + "\"" }
        return .status(
            200,
            headers: ["Content-Type: application/json"],
            body: #"{"request_id":"r","accepted":[\#(ids.joined(separator: ","))],"rejected":[],"removed":[]}"#
        )
    }
}

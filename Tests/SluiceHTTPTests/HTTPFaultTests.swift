// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import SluiceTestSupport
import Testing

/// Upstreams that refuse, break off, stall, drip and lie.
///
/// Cases C63, C64 and C65.
@Suite(.timeLimit(.minutes(1)))
struct HTTPFaultTests {
    @Test(
        arguments: [
            ("a length that is not reached", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"status\":1}"),
            ("a chunk cut short", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"sta"),
            ("no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
            ("a field name cut short", "HTTP/1.1 200 OK\r\nContent-Le"),
            ("no empty line", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"),
            ("half a status line", "HTTP/1.1 2"),
            ("only an interim answer", "HTTP/1.1 100 Continue\r\n\r\n"),
            ("nothing", ""),
        ]
    )
    func `an answer that breaks off is no answer`(what: String, text: String) async throws {
        let server = ScriptedServer([.answer(Array(text.utf8), closes: true)])
        defer { server.stop() }
        let failure = try await HTTPProbe().post(server.url).failure()
        #expect(failure.kind == .cut || failure.kind == .protocolViolation)
        #expect(failure.wasSent)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: ["hello\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\u{0}\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\r\n\r\n"])
    func `what is no HTTP is a protocol failure`(text: String) async throws {
        let server = ScriptedServer([.answer(Array(text.utf8), closes: true)])
        defer { server.stop() }
        let failure = try await HTTPProbe().post(server.url).failure()
        #expect(failure.kind == .protocolViolation)
    }

    @Test func `bytes behind an answer are dropped with the connection`() async throws {
        let extra = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"status\":1}HTTP/1.1 500 X\r\n\r\n"
        let server = ScriptedServer([.answer(Array(extra.utf8)), .status(204)])
        defer { server.stop() }
        let probe = HTTPProbe()
        #expect(try await probe.post(server.url).answer().status == 200)
        #expect(try await probe.post(server.url).answer().status == 204)
        #expect(server.connectionCount == 2)
    }

    @Test func `a content coding that nobody asked for is told and left on`() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\n"
        let junk: [UInt8] = [0x1f, 0x8b, 8, 0, 0x6a, 0x75, 0x6e, 0x6b]
        let server = ScriptedServer([.answer(Array(head.utf8) + junk)])
        defer { server.stop() }
        let answer = try await HTTPProbe().post(server.url).answer()
        #expect(answer.contentCoding == "gzip")
        #expect(answer.body == junk)
        #expect(server.requests.first?.head.contains("\r\nAccept-Encoding: identity\r\n") == true)
    }

    @Test func `a reset after the request is a cut of unknown outcome`() async throws {
        let server = ScriptedServer([.reset])
        defer { server.stop() }
        let failure = try await HTTPProbe().post(server.url).failure()
        #expect(failure.kind == .cut)
        #expect(failure.wasSent)
    }

    @Test func `a reset in the middle of a request is a cut`() async throws {
        let server = ScriptedServer([.resetInRequest(after: 100_000)])
        defer { server.stop() }
        let body = String(repeating: "x", count: 20_000_000)
        #expect(try await HTTPProbe().post(server.url, body).failure().kind == .cut)
    }

    @Test(arguments: [ScriptedServer.Step.close, .reset])
    func `a request on a kept connection is never repeated behind our back`(step: ScriptedServer.Step) async throws {
        let server = ScriptedServer([.status(200), step, .status(200)])
        defer { server.stop() }
        let probe = HTTPProbe()
        #expect(try await probe.post(server.url, "one").answer().status == 200)
        #expect(try await probe.post(server.url, "two").failure().kind == .cut)
        #expect(server.requests.map(\.bodyText) == ["one", "two"])
        #expect(try await probe.post(server.url, "two").answer().status == 200)
    }

    @Test func `a connection that the server closed in quiet is not used again`() async throws {
        let server = ScriptedServer([
            .answer(Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8), closes: true), .status(201),
        ])
        defer { server.stop() }
        let probe = HTTPProbe()
        #expect(try await probe.post(server.url).answer().status == 200)
        // The server may not have closed yet; then the request fails as a cut and is the caller's to repeat.
        var result = try await probe.post(server.url)
        if case .failure(let failure) = result {
            #expect(failure.kind == .cut)
            result = try await probe.post(server.url)
        }
        #expect(try result.answer().status == 201)
    }

    @Test func `a refused connection says so`() async throws {
        let closed = LoopbackSocket.bound(backlog: nil)
        let failure = try await HTTPProbe().post("http://127.0.0.1:\(closed.port)/secret-path").failure()
        #expect(failure.kind == .connect)
        #expect(!failure.wasSent)
        #expect(failure.message.contains("127.0.0.1"))
        #expect(!failure.message.contains("secret"))
    }

    @Test func `a name without an address says so`() async throws {
        let failure = try await HTTPProbe().post("http://sluice.invalid/").failure()
        #expect(failure.kind == .resolve)
        #expect(failure.message.contains("sluice.invalid"))
    }

    @Test func `a connection that never comes about has its own limit`() async throws {
        let hole = LoopbackSocket.bound(backlog: 0)
        // A full queue makes the kernel drop further attempts in silence.
        let fillers = (0..<4).map { _ in LoopbackSocket.connected(to: hole.port, waits: false) }
        let probe = HTTPProbe { $0.connectTimeout = .milliseconds(300) }
        let failure = try await probe.post("http://127.0.0.1:\(hole.port)/").failure()
        #expect(failure.kind == .connectTimeout)
        #expect(failure.message == "not connected within 300 ms")
        withExtendedLifetime(fillers) {}
    }

    @Test func `a silent upstream meets the idle limit`() async throws {
        let server = ScriptedServer([.stall])
        defer { server.stop() }
        let failure = try await HTTPProbe { $0.idleTimeout = .seconds(1) }.post(server.url).failure()
        #expect(failure.kind == .idleTimeout)
        #expect(failure.wasSent)
    }

    @Test func `a drip meets the total limit, whatever trickles`() async throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + String(repeating: "x", count: 5000)
        let server = ScriptedServer([.drip(Array(text.utf8), every: .milliseconds(20))])
        defer { server.stop() }
        let probe = HTTPProbe {
            $0.totalTimeout = .milliseconds(700)
            $0.idleTimeout = .seconds(5)
        }
        let failure = try await probe.post(server.url).failure()
        #expect(failure.kind == .totalTimeout)
    }

    @Test func `an upstream that does not read meets a limit`() async throws {
        let server = ScriptedServer([.ignore])
        defer { server.stop() }
        let body = String(repeating: "x", count: 20_000_000)
        let failure = try await HTTPProbe { $0.totalTimeout = .milliseconds(500) }.post(server.url, body).failure()
        #expect(failure.kind == .totalTimeout)
    }

    @Test func `a stalled request does not hold up others`() async throws {
        let server = ScriptedServer([.stall, .status(200)])
        defer { server.stop() }
        let probe = HTTPProbe()
        probe.client.send(.post(server.url, headers: .json, body: RequestBody("slow")), tag: 1)
        for tag in 2..<12 { probe.client.send(.post(server.url, headers: .json, body: RequestBody("fast")), tag: tag) }
        let completions = await probe.completions(10)
        #expect(!completions.contains { if case .failure = $0.result { true } else { false } })
    }

    @Test(arguments: [(407, HTTPFailure.Kind.proxyAuthentication), (403, .proxy), (502, .proxy)])
    func `a proxy that opens no tunnel says why`(status: Int, kind: HTTPFailure.Kind) async throws {
        let proxy = ScriptedServer([.status(status, headers: ["Retry-After: 9"])])
        defer { proxy.stop() }
        let url = proxy.url.replacing("http://", with: "http://user:hunter2@")
        let failure = try await HTTPProbe { $0.proxy = url }.post("https://graphjson.invalid/secret").failure()
        #expect(failure.kind == kind)
        #expect(!failure.wasSent)
        #expect(failure.message == "the proxy answered \(status)")
        #expect(proxy.requests.first?.head.hasPrefix("CONNECT graphjson.invalid:443 HTTP/1.1\r\n") == true)
    }
}

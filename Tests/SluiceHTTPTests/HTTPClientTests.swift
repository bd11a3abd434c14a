// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import SluiceSystem
import SluiceTestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct HTTPClientTests {
    @Test func `a POST arrives as it was given and the answer comes back`() async throws {
        let server = ScriptedServer([.status(202, headers: ["Content-Type: application/json"], body: "{\"status\":1}")])
        defer { server.stop() }
        let answer = try await HTTPProbe().post(server.url + "/api/log", "{\"a\":1}").answer()
        #expect(answer.status == 202)
        #expect(answer.contentType == "application/json")
        #expect(String(decoding: answer.body, as: UTF8.self) == "{\"status\":1}")
        #expect(answer.retryAfter == nil)
        #expect(!answer.bodyWasCut)
        let request = try #require(server.requests.first)
        #expect(request.head.hasPrefix("POST /api/log HTTP/1.1\r\n"))
        #expect(request.head.contains("\r\nContent-Type: application/json\r\n"))
        #expect(!request.head.lowercased().contains("expect:"))
        #expect(request.bodyText == "{\"a\":1}")
    }

    @Test func `a GET has no body and follows a POST on the same handle`() async throws {
        let server = ScriptedServer([.status(200)])
        defer { server.stop() }
        let probe = HTTPProbe()
        _ = try await probe.post(server.url, "first").answer()
        _ = try await probe.result(of: .get(server.url + "/stats")).answer()
        _ = try await probe.post(server.url, "third").answer()
        #expect(server.requests.map(\.bodyText) == ["first", "", "third"])
        #expect(server.requests[1].head.hasPrefix("GET /stats HTTP/1.1\r\n"))
        #expect(server.connectionCount == 1)
    }

    @Test func `a large body is sent whole without waiting for a 100`() async throws {
        let server = ScriptedServer([.status(200)])
        defer { server.stop() }
        let body = String(repeating: "0123456789abcdef", count: 200_000)
        _ = try await HTTPProbe().post(server.url, body).answer()
        #expect(server.requests.first?.bodyText == body)
    }

    @Test func `every request of many gets its own completion`() async throws {
        let server = ScriptedServer { _ in .decide { .status(200, body: $0.bodyText) } }
        defer { server.stop() }
        let probe = HTTPProbe()
        for tag in 0..<500 {
            probe.client.send(.post(server.url, headers: .json, body: RequestBody("\(tag)")), tag: tag)
            if tag % 16 == 15 { try await check(probe.completions(16)) }
        }
        try await check(probe.completions(500 % 16))
        #expect(server.requests.count == 500)
        #expect(server.connectionCount <= 16)

        func check(_ completions: [HTTPCompletion]) throws {
            for completion in completions {
                #expect(String(decoding: try completion.result.answer().body, as: UTF8.self) == "\(completion.tag)")
                #expect(completion.nanoseconds > 0)
            }
        }
    }

    /// Case C60.
    @Test(arguments: ["Retry-After", "retry-after", "RETRY-AFTER", "rEtRy-aFtEr"])
    func `Retry-After is found in any case`(name: String) async throws {
        let server = ScriptedServer([.status(429, headers: ["\(name):   2 "])])
        defer { server.stop() }
        #expect(try await HTTPProbe().post(server.url).answer().retryAfter == "2")
    }

    @Test func `a redirect is an answer and is not followed`() async throws {
        let target = ScriptedServer([.status(200)])
        defer { target.stop() }
        let server = ScriptedServer([.status(307, headers: ["Location: \(target.url)"])])
        defer { server.stop() }
        #expect(try await HTTPProbe().post(server.url).answer().status == 307)
        #expect(target.connectionCount == 0)
    }

    @Test func `an interim answer is not the answer`() async throws {
        let text = "HTTP/1.1 100 Continue\r\nRetry-After: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let server = ScriptedServer([.answer(Array(text.utf8))])
        defer { server.stop() }
        let answer = try await HTTPProbe().post(server.url).answer()
        #expect(answer.status == 200)
        #expect(answer.retryAfter == nil)
    }

    /// Case C64.
    @Test func `a body above the cap is cut and flagged and the client goes on`() async throws {
        let head = Array("HTTP/1.1 503 Down\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let piece = Array("10\r\n0123456789abcdef\r\n".utf8)
        let server = ScriptedServer([.endless(head: head, piece: piece), .status(200)])
        defer { server.stop() }
        let probe = HTTPProbe { $0.maximumAnswerBytes = 1000 }
        let answer = try await probe.post(server.url).answer()
        #expect(answer.status == 503)
        #expect(answer.retryAfter == "3")
        #expect(answer.bodyWasCut)
        #expect(answer.body.count == 1000)
        #expect(try await probe.post(server.url).answer().status == 200)
    }

    @Test func `no proxy of the environment is used, the configured one is`() async throws {
        let server = ScriptedServer([.status(200)])
        defer { server.stop() }
        let proxy = ScriptedServer([.status(204)])
        defer { proxy.stop() }
        let answer = try await HTTPProbe { $0.proxy = proxy.url }.post(server.url + "/x").answer()
        #expect(answer.status == 204)
        #expect(proxy.requests.first?.head.hasPrefix("POST \(server.url)/x HTTP/1.1\r\n") == true)
        #expect(server.connectionCount == 0)
    }

    @Test(arguments: ["ftp://127.0.0.1/", "file:///etc/passwd", "not a url", "http://127.0.0.1:99999/", ""])
    func `what is no HTTP URL is refused unsent`(url: String) async throws {
        let failure = try await HTTPProbe().post(url).failure()
        #expect(failure.kind == .invalidRequest)
        #expect(!failure.wasSent)
    }

    @Test func `cancelling ends what is open and the client goes on`() async throws {
        let server = ScriptedServer([.stall, .stall, .status(200)])
        defer { server.stop() }
        let probe = HTTPProbe()
        probe.client.send(.post(server.url, headers: .json, body: RequestBody("1")), tag: 1)
        probe.client.send(.post(server.url, headers: .json, body: RequestBody("2")), tag: 2)
        probe.client.cancelAll()
        let completions = await probe.completions(2)
        #expect(Set(completions.map(\.tag)) == [1, 2])
        for completion in completions { #expect(try completion.result.failure().kind == .cancelled) }
    }

    @Test func `what is sent right after a cancellation is not forgotten`() async throws {
        let server = ScriptedServer { number in number % 2 == 0 ? .stall : .status(200) }
        defer { server.stop() }
        let probe = HTTPProbe()
        let start = ContinuousClock.now
        for _ in 0..<20 {
            probe.client.send(.post(server.url, headers: .json, body: RequestBody("1")), tag: 1)
            while server.requests.count % 2 == 0 { await Task.yield() }
            probe.client.cancelAll()
            #expect(try await probe.completions(1)[0].result.failure().kind == .cancelled)
            #expect(try await probe.post(server.url, "2").answer().status == 200)
        }
        // A missed wake-up costs a second each time.
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test func `closing ends at once and leaves a completion for each request`() async throws {
        let server = ScriptedServer([.stall])
        defer { server.stop() }
        let probe = HTTPProbe()
        for tag in 0..<10 { probe.client.send(.post(server.url, headers: .json, body: RequestBody("x")), tag: tag) }
        probe.client.close()
        let completions = await probe.completions(10)
        #expect(Set(completions.map(\.tag)) == Set(0..<10))
        probe.client.send(.get(server.url), tag: 10)
        var none: [HTTPCompletion] = []
        probe.client.takeCompletions(into: &none)
        #expect(none.isEmpty)
    }

    @Test func `a body is released when its request has ended`() async throws {
        let server = ScriptedServer([.status(200)])
        defer { server.stop() }
        let probe = HTTPProbe()
        weak let body: RequestBody?
        do {
            let made = RequestBody("gone")
            body = made
            _ = try await probe.result(of: .post(server.url, headers: .json, body: made)).answer()
        }
        #expect(body == nil)
    }
}

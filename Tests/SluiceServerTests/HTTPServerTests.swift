// SPDX-License-Identifier: Apache-2.0
import SluiceServer
import SluiceSystem
import SluiceTestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct HTTPServerTests {
    @Test func `a request is seen as it was sent`() async throws {
        let probe = try ServerProbe()
        let request = ServerProbe.post("/a%2fb%00c?q=1%202&r", "héllo", headers: "x-TEST: v\r\nConnection: close\r\n")
        let answer = try await probe.exchange(request)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.hasSuffix("\r\n\r\nPOST /a%2fb%00c 1%202 v héllo"))
    }

    @Test func `all fields of a name are found in their order`() async throws {
        let handler = ServerHandler(
            head: { _ in .receive(maximumBytes: 0) },
            complete: { request in
                .answer(ServerAnswer(status: 200, body: request.headerValues("x-forwarded-for").joined(separator: "|")))
            }
        )
        let server = try HTTPServer(ServerConfiguration(host: "127.0.0.1", port: 0), handler: handler)
        defer { server.stop() }
        let answer = try await onThread {
            guard let socket = LoopbackSocket.connected(to: server.port) else { return "" }
            let fields = "X-Forwarded-For: a, b\r\nX-Other: z\r\nx-forwarded-FOR: c\r\nConnection: close\r\n"
            socket.send(Array("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8))
            return String(decoding: socket.receiveAll(), as: UTF8.self)
        }
        #expect(answer.hasSuffix("\r\n\r\na, b|c"))
    }

    @Test func `an absolute URL counts by its path`() async throws {
        let probe = try ServerProbe()
        let answer = try await probe.exchange(ServerProbe.post("HTTP://a/x", "b", headers: "Connection: close\r\n"))
        #expect(answer.hasSuffix("POST /x   b"))
    }

    @Test func `requests follow each other on one connection, also without waiting`() async throws {
        let probe = try ServerProbe()
        let many = (0..<50).map { ServerProbe.post("/\($0)", "body \($0)") }.joined()
        let last = ServerProbe.post("/last", "", headers: "Connection: close\r\n")
        let answer = try await probe.exchange(many + last)
        for number in 0..<50 { #expect(answer.contains("POST /\(number)   body \(number)")) }
        #expect(answer.hasSuffix("POST /last   "))
    }

    @Test func `chunked bodies, HTTP 1.0 and bodyless methods work`() async throws {
        let probe = try ServerProbe()
        let chunked =
            "POST /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3;x=\"y\"\r\nabc\r\n0002\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
        #expect(try await probe.exchange(chunked).hasSuffix("POST /c   abcde"))
        #expect(try await probe.exchange(ServerProbe.post("/o", "x", version: "1.0")).hasSuffix("POST /o   x"))
        #expect(
            try await probe.exchange("GET /g HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").hasSuffix("GET /g   ")
        )
        let head = try await probe.exchange("HEAD /h HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(head.hasPrefix("HTTP/1.1 200") && head.hasSuffix("\r\n\r\n"))
        let none = try await probe.exchange("GET /empty HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(none.hasPrefix("HTTP/1.1 204"))
    }

    @Test func `a body sent byte by byte arrives whole`() async throws {
        let probe = try ServerProbe()
        let answer = try await onThread {
            let socket = probe.connect()
            for byte in ServerProbe.post("/x", "hello", headers: "Connection: close\r\n").utf8 { socket.send([byte]) }
            return String(decoding: socket.receiveAll(), as: UTF8.self)
        }
        #expect(answer.hasSuffix("POST /x   hello"))
    }

    /// Case C26.
    @Test func `Expect is answered with 100 before the body comes`() async throws {
        let probe = try ServerProbe()
        let answer = try await onThread {
            let socket = probe.connect()
            let head =
                "POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
            socket.send(Array(head.utf8))
            let interim = String(decoding: socket.receive(), as: UTF8.self)
            socket.send(Array("ok".utf8))
            return interim + String(decoding: socket.receiveAll(), as: UTF8.self)
        }
        #expect(answer.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"))
        #expect(answer.hasSuffix("POST /x   ok"))
    }

    @Test func `a refusal on the head keeps a connection whose body is short`() async throws {
        let probe = try ServerProbe()
        let two = ServerProbe.post("/refuse", "body") + ServerProbe.post("/x", "b", headers: "Connection: close\r\n")
        let answer = try await probe.exchange(two)
        #expect(answer.hasPrefix("HTTP/1.1 403"))
        #expect(answer.hasSuffix("POST /x   b"))
    }

    /// Case C26.
    @Test(arguments: [false, true])
    func `too long a body is refused from the head and the refusal can be read`(expects: Bool) async throws {
        let probe = try ServerProbe()
        let body = String(repeating: "x", count: 5 << 20)
        let request = ServerProbe.post("/x", body, headers: expects ? "Expect: 100-continue\r\n" : "")
        for _ in 0..<50 {
            let answer = try await probe.exchange(request)
            #expect(answer.hasPrefix("HTTP/1.1 413"))
            #expect(answer.contains("Connection: close\r\n"))
            #expect(answer.hasSuffix("{\"error\":\"body_too_large\"}"))
        }
    }

    @Test func `a chunked body that grows too long is refused with what was read forgotten`() async throws {
        let probe = try ServerProbe()
        let chunk = "10000\r\n" + String(repeating: "x", count: 65536) + "\r\n"
        let head = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        let answer = try await probe.exchange(head + String(repeating: chunk, count: 40) + "0\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 413"))
    }

    @Test(
        arguments: [
            ("two lengths", "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
            (
                "length and chunks",
                "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400
            ),
            ("another coding", "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
            ("negative length", "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
            ("signed length", "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", 400),
            ("two hosts", "GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("no host", "GET /x HTTP/1.1\r\n\r\n", 400),
            ("no length", "POST /x HTTP/1.1\r\nHost: a\r\n\r\n", 411),
            ("no length in 1.0", "POST /x HTTP/1.0\r\nHost: a\r\n\r\n{}", 411),
            ("another expectation", "POST /x HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\nx", 417),
            ("a future version", "GET /x HTTP/9.9\r\nHost: a\r\n\r\n", 505),
            ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            ("HTTP/0.9", "GET /\r\n", 400),
            (
                "a bad chunk size", "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n",
                400
            ),
            (
                "too large a chunk size",
                "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", 413
            ),
        ]
    )
    func `what is ambiguous or wrong is refused and the connection closed`(what: String, text: String, status: Int)
        async throws
    {
        let probe = try ServerProbe { $0.headTimeout = .seconds(60) }
        let start = ContinuousClock.now
        let answer = try await probe.exchange(text)
        #expect(start.duration(to: .now) < .seconds(10))
        #expect(
            answer.isEmpty || answer.hasPrefix("HTTP/1.1 \(status)") || answer.hasPrefix("HTTP/1.0 \(status)"),
            "\(answer)"
        )
    }

    @Test func `a peer is known by its address`() throws {
        let four = try #require(PeerAddress(parsing: "192.0.2.7"))
        #expect(four.isVersion4 && four.description == "192.0.2.7" && four.network == four)
        let six = try #require(PeerAddress(parsing: "2001:db8:1:2:3::4"))
        #expect(
            !six.isVersion4 && six.description == "2001:db8:1:2:3::4" && six.network.description == "2001:db8:1:2::"
        )
        #expect(PeerAddress(parsing: "::ffff:192.0.2.7") == four)
        #expect(PeerAddress(parsing: "example.com") == nil)
    }

    @Test func `an address that is taken or not ours is an error with its reason`() throws {
        let probe = try ServerProbe()
        let port = probe.server.port
        let taken = #expect(throws: SystemError.self) {
            _ = try HTTPServer(ServerConfiguration(host: "127.0.0.1", port: port), handler: .silent)
        }
        #expect(taken?.description == "127.0.0.1:\(port): bind failed: Address already in use")
        #expect(throws: SystemError.self) {
            _ = try HTTPServer(ServerConfiguration(host: "192.0.2.1", port: 0), handler: .silent)
        }
        #expect(throws: SystemError.self) {
            _ = try HTTPServer(ServerConfiguration(host: "not-an-address", port: 0), handler: .silent)
        }
    }

    @Test func `IPv6 is listened on with brackets in its name`() throws {
        let server = try HTTPServer(ServerConfiguration(host: "::1", port: 0), handler: .silent)
        defer { server.stop() }
        #expect(server.address == "[::1]:\(server.port)")
    }
}

extension ServerHandler {
    static let silent = ServerHandler(
        head: { _ in .receive(maximumBytes: 0) },
        complete: { _ in .answer(ServerAnswer(status: 204)) }
    )
}

// SPDX-License-Identifier: Apache-2.0
import SluiceServer
import SluiceTestSupport
import Testing

/// Requests that are answered later, by whom and whenever.
@Suite(.timeLimit(.minutes(2)))
struct SuspensionTests {
    static let later = ServerProbe.post("/later", "body", headers: "Connection: close\r\n")

    @Test func `many requests wait without a thread and are answered in one go`() async throws {
        let probe = try ServerProbe()
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await probe.exchange(Self.later) } }
            for (number, ticket) in await probe.waiting.take(100).enumerated() {
                #expect(ticket.answer(ServerAnswer(status: 200, body: "answer \(number)")))
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let bodies = Set(answers.compactMap { $0.split(separator: "\r\n\r\n").last })
        #expect(bodies == Set((0..<100).map { "answer \($0)" }))
    }

    @Test func `a ticket answers once, and never a later request`() async throws {
        let probe = try ServerProbe()
        let stale = try await onThread { () -> LoopbackSocket in
            let socket = probe.connect()
            socket.send(Array(ServerProbe.post("/later", "1").utf8))
            return socket
        }
        let first = await probe.waiting.take(1)[0]
        #expect(first.answer(ServerAnswer(status: 200, body: "first")))
        #expect(!first.answer(ServerAnswer(status: 200, body: "again")))
        let one = try await onThread {
            let one = stale.receive()
            stale.send(Array(ServerProbe.post("/later", "2").utf8))
            return String(decoding: one, as: UTF8.self)
        }
        #expect(one.hasSuffix("first"))
        let second = await probe.waiting.take(1)[0]
        #expect(!first.answer(ServerAnswer(status: 200, body: "late")))
        #expect(second.answer(ServerAnswer(status: 200, body: "second")))
        let two = try await onThread { String(decoding: stale.receive(), as: UTF8.self) }
        #expect(two.hasSuffix("second"))
    }

    @Test func `an answer that comes before the handler returns is not lost`() async throws {
        let handler = ServerHandler(
            head: { _ in .receive(maximumBytes: 100) },
            complete: { request in
                request.ticket.answer(ServerAnswer(status: 200, body: "at once"))
                return .later
            }
        )
        let server = try HTTPServer(ServerConfiguration(host: "127.0.0.1", port: 0), handler: handler)
        defer { server.stop() }
        let answer = try await onThread {
            guard let socket = LoopbackSocket.connected(to: server.port) else { return "" }
            socket.send(Array(Self.later.utf8))
            return String(decoding: socket.receiveAll(), as: UTF8.self)
        }
        #expect(answer.hasSuffix("at once"))
    }

    @Test func `a client that leaves while it waits does no harm`() async throws {
        let probe = try ServerProbe()
        for _ in 0..<50 {
            let socket = probe.connect()
            socket.send(Array(Self.later.utf8))
            let ticket = await probe.waiting.take(1)[0]
            socket.resetWhenClosed()
            socket.shutDown()
            ticket.answer(ServerAnswer(status: 200, body: String(repeating: "x", count: 100_000)))
        }
        #expect(
            try await probe.exchange(ServerProbe.post("/x", "", headers: "Connection: close\r\n")).hasPrefix(
                "HTTP/1.1 200"
            )
        )
    }

    /// Case C30.
    @Test(arguments: ["head", "body", "request", "answer"])
    func `a client that goes away at any point leaves nothing behind`(point: String) async throws {
        let probe = try ServerProbe()
        let text = ServerProbe.post("/x", String(repeating: "b", count: 100_000))
        let sent = Array(text.utf8.prefix(["head": 60, "body": 50_000][point] ?? text.utf8.count))
        try await onThread {
            for round in 0..<60 {
                let socket = probe.connect()
                socket.send(sent)
                if point == "answer" { _ = socket.receive(10) }
                switch round % 3 {
                case 0: socket.resetWhenClosed()
                case 1: socket.endSending()
                default: break
                }
            }
        }
        let answer = try await probe.exchange(ServerProbe.post("/x", "", headers: "Connection: close\r\n"))
        #expect(answer.hasPrefix("HTTP/1.1 200"))
        try await onThread {
            // Whoever is gone is noticed by the server's threads in their own time.
            let socket = probe.connect()
            for _ in 0..<1000 where probe.server.connectionCount > 1 {
                socket.send(Array(ServerProbe.post("/x", "").utf8))
                _ = socket.receive()
            }
        }
        #expect(probe.server.connectionCount <= 1)
    }

    @Test func `a client that has said all it will say still gets its answer`() async throws {
        let probe = try ServerProbe()
        #expect(try await probe.exchange(ServerProbe.post("/x", "b"), endsSending: true).hasSuffix("POST /x   b"))
        async let late = probe.exchange(Self.later, endsSending: true)
        await probe.waiting.take(1)[0].answer(ServerAnswer(status: 200, body: "late"))
        #expect(try await late.hasSuffix("late"))
    }

    @Test func `stopping waits for answers within the grace period`() async throws {
        let probe = try ServerProbe()
        async let answer = probe.exchange(Self.later)
        let ticket = await probe.waiting.take(1)[0]
        async let stopped: Void = onThread { probe.server.stop(grace: .seconds(20)) }
        ticket.answer(ServerAnswer(status: 200, body: "in time"))
        #expect(try await answer.hasSuffix("in time"))
        try await stopped
    }

    @Test func `stopping answers 503 to whoever still waits`() async throws {
        let probe = try ServerProbe()
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await probe.exchange(Self.later) } }
            let tickets = await probe.waiting.take(20)
            try await onThread { probe.server.stop(grace: .zero) }
            for ticket in tickets { #expect(!ticket.answer(ServerAnswer(status: 200))) }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 503") })
    }

    @Test func `while stopping new requests are refused and no connection is taken`() async throws {
        let probe = try ServerProbe()
        let socket = probe.connect()
        let before = try await onThread {
            socket.send(Array(ServerProbe.post("/x", "").utf8))
            return String(decoding: socket.receive(), as: UTF8.self)
        }
        #expect(before.hasPrefix("HTTP/1.1 200"))
        probe.server.stopAccepting()
        let after = try await onThread {
            socket.send(Array(ServerProbe.post("/x", "").utf8))
            return String(decoding: socket.receiveAll(), as: UTF8.self)
        }
        #expect(after.hasPrefix("HTTP/1.1 503"))
        probe.server.stop(grace: .zero)
        #expect(LoopbackSocket.connected(to: probe.server.port) == nil)
    }
}

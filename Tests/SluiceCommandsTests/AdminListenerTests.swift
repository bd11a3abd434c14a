// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceTelemetry
import SluiceTestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct AdminListenerTests {
    private let health = Health(clock: ManualClock().clock)
    private let registry = MetricsRegistry()
    private let listener: AdminListener

    init() throws {
        registry.counter("sluice_test_total", help: "Test.").increment(by: 7)
        listener = try AdminListener(
            try #require(ListenAddress(parsing: "127.0.0.1:0")),
            hosts: ["Relay.example.org"],
            registry: registry,
            health: health,
            pages: ["/": { .text("hello\n") }]
        )
    }

    private func ask(_ path: String, method: String = "GET", host: String = "127.0.0.1") async throws -> String {
        let port = try #require(listener.address.split(separator: ":").last.flatMap { UInt16($0) })
        let head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
        return try await onThread {
            guard let socket = LoopbackSocket.connected(to: port) else { return "" }
            socket.send(Array(head.utf8))
            return String(decoding: socket.receiveAll(), as: UTF8.self)
        }
    }

    @Test func `metrics are served as Prometheus wants them`() async throws {
        let answer = try await ask("/metrics")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
        #expect(answer.hasSuffix("\nsluice_test_total 7\n"))
    }

    @Test func `health and readiness name their problems`() async throws {
        #expect(try await ask("/readyz").hasSuffix("\r\n\r\nok\n"))
        health.report("gate", "halted: HTTP 401")
        let ready = try await ask("/readyz")
        #expect(ready.hasPrefix("HTTP/1.1 503 "))
        #expect(ready.hasSuffix("\r\n\r\ngate: halted: HTTP 401\n"))
        #expect(try await ask("/healthz").hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `other paths and methods are refused`() async throws {
        #expect(try await ask("/").hasSuffix("hello\n"))
        #expect(try await ask("/etc/passwd").hasPrefix("HTTP/1.1 404 "))
        #expect(try await ask("/metrics", method: "DELETE").hasPrefix("HTTP/1.1 405 "))
    }

    @Test(arguments: [
        ("127.0.0.1:9465", true), ("[::1]:9465", true), ("localhost", true), ("sluice-relay:80", true),
        ("RELAY.example.org:1", true), ("relay.example.org.", true), ("evil.example.org", false),
        ("127.0.0.1.evil.example", false),
        ("", false), ("[evil.example]", false),
    ])
    func `only hosts that no foreign page can name are served`(host: String, isServed: Bool) async throws {
        #expect(try await ask("/metrics", host: host).hasPrefix("HTTP/1.1 200 ") == isServed)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceServer
import SluiceTestSupport
import Testing

/// Clients that are slow, silent, many or speak something else.
@Suite(.timeLimit(.minutes(2)))
struct DeadlineTests {
    /// Case C28.
    @Test(
        arguments: [
            [UInt8](arrayLiteral: 0x16, 0x03, 0x01, 0x00, 0x2a), [0], Array("{\"a\":1}".utf8),
            Array(" GET / HTTP/1.1\r\n".utf8),
        ]
    )
    func `what begins with no method is closed at once`(bytes: [UInt8]) async throws {
        let probe = try ServerProbe { $0.headTimeout = .seconds(60) }
        let duration = try await ContinuousClock().measure {
            let answer = try await onThread {
                let socket = probe.connect()
                socket.send(bytes)
                return socket.receiveAll()
            }
            #expect(answer.isEmpty)
        }
        #expect(duration < .seconds(10))
    }

    @Test func `a silent connection is closed at the deadline for heads`() async throws {
        let probe = try ServerProbe { $0.headTimeout = .milliseconds(300) }
        let answer = try await onThread { probe.connect().receiveAll() }
        #expect(answer.isEmpty)
    }

    @Test(arguments: ["GET /x HTT", "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc"])
    func `a head or body that does not end is answered 408`(text: String) async throws {
        let probe = try ServerProbe {
            $0.headTimeout = .milliseconds(300)
            $0.bodyTimeout = .milliseconds(300)
        }
        #expect(try await probe.exchange(text).hasPrefix("HTTP/1.1 408 "))
    }

    /// Case C29.
    @Test func `dripping does not move the deadline`() async throws {
        let probe = try ServerProbe { $0.headTimeout = .milliseconds(500) }
        let sent = try await onThread { () -> Int in
            let socket = probe.connect()
            socket.limitReceiving(milliseconds: 20)
            for count in 0..<2000 {
                if !socket.send([UInt8(ascii: "G")]) { return count }
                if socket.receive().starts(with: Array("HTTP/1.1 408".utf8)) { return count }
            }
            return .max
        }
        #expect(sent < 200)
    }

    @Test func `an idle connection is closed after its time`() async throws {
        let probe = try ServerProbe { $0.keepAliveTimeout = .milliseconds(300) }
        let answer = try await probe.exchange(ServerProbe.post("/x", ""))
        #expect(answer.hasPrefix("HTTP/1.1 200"))
        #expect(!answer.contains("408"))
    }

    @Test func `an answer that does not come is a 503`() async throws {
        let probe = try ServerProbe { $0.answerTimeout = .milliseconds(300) }
        let answer = try await probe.exchange(ServerProbe.post("/later", "", headers: "Connection: close\r\n"))
        #expect(answer.hasPrefix("HTTP/1.1 503"))
        #expect(answer.hasSuffix("{\"error\":\"timeout\"}"))
    }

    @Test func `an address has only so many connections`() async throws {
        let probe = try ServerProbe { $0.maximumConnectionsPerAddress = 3 }
        let kept = (0..<3).map { _ in probe.connect() }
        #expect(try await onThread { probe.connect().receiveAll() }.isEmpty)
        kept[0].shutDown()
        var answer = ""
        for _ in 0..<100 where answer.isEmpty {
            answer = try await probe.exchange(ServerProbe.post("/x", "", headers: "Connection: close\r\n"))
        }
        #expect(answer.hasPrefix("HTTP/1.1 200"))
    }

    @Test func `at the limit others wait until there is room`() async throws {
        let probe = try ServerProbe { $0.maximumConnections = 2 }
        let first = probe.connect()
        let second = probe.connect()
        async let third = probe.exchange(ServerProbe.post("/x", "", headers: "Connection: close\r\n"))
        first.send(Array(ServerProbe.post("/x", "", headers: "Connection: close\r\n").utf8))
        let bytes = try await onThread { first.receiveAll() }
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 200"))
        #expect(try await third.hasPrefix("HTTP/1.1 200"))
        withExtendedLifetime(second) {}
    }

    @Test func `slow clients do not hold up a quick one`() async throws {
        let probe = try ServerProbe { $0.maximumConnections = 600 }
        let slow = (0..<400).map { _ in probe.connect() }
        for socket in slow { socket.send(Array("POST /x HTTP/1.1\r\nHo".utf8)) }
        for _ in 0..<20 {
            let answer = try await probe.exchange(ServerProbe.post("/x", "", headers: "Connection: close\r\n"))
            #expect(answer.hasPrefix("HTTP/1.1 200"))
        }
        withExtendedLifetime(slow) {}
    }
}

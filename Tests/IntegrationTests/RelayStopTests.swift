// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Stop signals in the middle of things.
///
/// Case C73.
@Suite(.timeLimit(.minutes(2)))
struct RelayStopTests {
    private static let ok = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)

    /// What the destination does with the first request.
    enum Fault: String, CaseIterable, Sendable {
        case slow, silent, dripping, failing

        var step: ScriptedServer.Step {
            switch self {
            case .slow: .drip(RelayStopTests.ok, every: .milliseconds(20))
            case .silent: .stall
            case .dripping: .drip(RelayStopTests.ok, every: .milliseconds(500))
            case .failing: .status(503, headers: ["Retry-After: 300"])
            }
        }
    }

    @Test(arguments: zip(Fault.allCases + [.slow], [SIGTERM, SIGTERM, SIGINT, SIGTERM, SIGINT]))
    func `a relay that is stopped ends in time, gives everything back, and repeats nothing that was answered`(
        fault: Fault,
        signal: Int32
    ) throws {
        let upstream = Upstream { _, number in number == 0 ? fault.step : nil }
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        try sample.fill(120)
        let settings = [
            "SLUICE_RELAY_SHUTDOWN_GRACE_S": fault == .slow ? "20" : "1.5", "SLUICE_RELAY_MAX_IN_FLIGHT": "1",
        ]
        let relay = try RelayProgram.run(sample.path, to: server.url, settings: settings)
        #expect(relay.wait(seconds: 20) { upstream.requests.count == 1 })
        if fault == .failing { #expect(relay.wait(seconds: 20) { relay.errors.contains("Destination closed") }) }
        let begun = SystemClock.system.monotonicNanoseconds()
        kill(relay.id, signal)
        let result = relay.result(seconds: 20)
        #expect(result.code == 0)
        #expect(Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e9 < 10)
        #expect(try FileSystem.names(in: "\(sample.path)/claimed").isEmpty)
        #expect(upstream.requests.count == 1)
        #expect(result.errors.contains(#""events.left":\#(fault == .slow ? 70 : 120)"#), "\(result.errors)")
        try expectBalanced(sample.path)
        if fault == .failing { try FileSystem.remove("\(sample.path)/gate") }
        #expect(try RelayProgram.drain(sample.path, to: server.url).code == 0)
        let sent = upstream.requests.flatMap(\.ids)
        #expect(Set(sent).count == 120)
        // Only what had no answer goes out again.
        #expect(sent.count == (fault == .slow ? 120 : 170))
    }

    @Test func `a second signal does not wait`() throws {
        let upstream = Upstream { _, _ in .stall }
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        try sample.fill(50)
        let relay = try RelayProgram.run(
            sample.path,
            to: server.url,
            settings: ["SLUICE_RELAY_SHUTDOWN_GRACE_S": "60"]
        )
        #expect(relay.wait(seconds: 20) { upstream.requests.count == 1 })
        relay.terminate()
        // The first one is being waited for.
        #expect(!relay.wait(seconds: 1) { !relay.isRunning })
        relay.terminate()
        #expect(relay.result(seconds: 10).code == 0)
        #expect(try FileSystem.names(in: "\(sample.path)/claimed").isEmpty)
        try expectBalanced(sample.path)
    }

    @Test func `an endpoint that is stopped with requests half received gives no false success`() throws {
        let folder = TemporaryFolder()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: ["SLUICE_ENDPOINT_SHUTDOWN_GRACE_S": "1"]
        )
        let head = "POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        let requests = (0..<20).map { number -> [UInt8] in
            let body = EndpointProcess.batch(["half-\(number)"])
            return Array("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
        }
        let clients = try requests.map { request in
            let client = try endpoint.client()
            client.socket.send(request.dropLast(10))
            return client
        }
        endpoint.process.terminate()
        for (number, client) in clients.enumerated() where number % 2 == 0 {
            client.socket.send(requests[number].suffix(10))
        }
        let statuses = clients.map { RawAnswer.all($0.socket.receiveAll()).first?.status }
        #expect(endpoint.process.result(seconds: 20).code == 0)
        let kept = Set(try SpooledLines.all(in: endpoint.spool).compactMap(SpooledLines.id))
        for (number, status) in statuses.enumerated() {
            if status == 200 { #expect(kept.contains("half-\(number)")) }
            #expect([nil, 200, 408, 503].contains(status))
            if number % 2 == 1 { #expect(status != 200 && !kept.contains("half-\(number)")) }
        }
    }
}

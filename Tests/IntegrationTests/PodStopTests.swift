// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Endpoint and relay as the two containers of a pod that ends.
///
/// Case C96.
@Suite(.timeLimit(.minutes(2)))
struct PodStopTests {
    enum Order: CaseIterable, Sendable {
        /// Both are told at once, and killed two seconds later.
        case together
        /// The endpoint first; the relay when it is gone.
        case endpointFirst
    }

    @Test(arguments: Order.allCases)
    func `on a volume that is kept nothing is lost in either order, and what is left is told`(order: Order) throws {
        let folder = TemporaryFolder()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: ["SLUICE_SPOOL_SEGMENT_AGE_S": "0.1"]
        )
        // Slow enough that something is left.
        let ok = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)
        let upstream = Upstream { _, _ in .drip(ok, every: .milliseconds(8)) }
        let server = upstream.server()
        defer { server.stop() }
        let relay = try RelayProgram.run(
            endpoint.spool,
            to: server.url,
            settings: ["SLUICE_RELAY_MAX_IN_FLIGHT": "1", "SLUICE_RELAY_LINGER_S": "0"]
        )
        let port = endpoint.port
        let acknowledged = Acknowledged()
        let clients = (0..<4).map { number in
            SystemThread(name: "client") {
                guard let client = EndpointClient(port: port) else { return }
                for batch in 0..<100_000 {
                    let ids = (0..<10).map { "c\(number)-\(batch)-\($0)" }
                    guard client.post(EndpointProcess.batch(ids))?.status == 200 else { return }
                    acknowledged.add(ids)
                }
            }
        }
        relay.wait(seconds: 20) { upstream.requests.count > 2 && acknowledged.count > 1000 }
        endpoint.process.terminate()
        switch order {
        case .together:
            relay.terminate()
            let both = [endpoint.process, relay]
            if !relay.wait(seconds: 2, until: { both.allSatisfy { !$0.isRunning } }) { for one in both { one.kill() } }
        case .endpointFirst:
            #expect(endpoint.process.result(seconds: 20).code == 0)
            relay.terminate()
            #expect(relay.result(seconds: 20).code == 0)
        }
        for client in clients { client.join() }
        let status = try RelayProgram.command("status", "--json", spool: endpoint.spool)
        #expect(status.code == 0, "\(status.output)")
        if order == .endpointFirst {
            let start = try #require(status.output.firstRange(of: #""pending":"#)?.upperBound)
            let pending = status.output[start...].prefix { $0.isNumber }
            #expect(relay.errors.contains("\"events.left\":\(pending)"), "\(relay.errors)")
        }
        let after = Upstream()
        let next = after.server()
        defer { next.stop() }
        #expect([0, 65].contains(try RelayProgram.drain(endpoint.spool, to: next.url).code))
        // Sent counts: the answers that dripped were successes.
        let arrived = Set(upstream.requests.flatMap(\.ids) + after.taken)
        #expect(acknowledged.ids.subtracting(arrived).isEmpty)
        try expectBalanced(endpoint.spool)
    }

    @Test func `before a volume is thrown away a drain takes what it can in its time and says what was left`() throws {
        let ok = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)
        let upstream = Upstream { _, _ in .drip(ok, every: .milliseconds(2)) }
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        try sample.fill(10_000)
        let drained = try RelayProgram.drain(
            sample.path,
            to: server.url,
            ["--deadline", "1"],
            settings: ["SLUICE_RELAY_MAX_IN_FLIGHT": "1", "SLUICE_RELAY_SHUTDOWN_GRACE_S": "1"]
        )
        #expect(drained.code == 75)
        let words = drained.output.replacing(",", with: "").split(separator: " ")
        let delivered = try #require(words.dropFirst().first.flatMap { Int($0) })
        let place = try #require(words.firstIndex(of: "left"))
        let left = try #require(Int(words[place - 2]))
        #expect(delivered > 0 && delivered + left == 10_000, "\(drained.output)")
    }
}

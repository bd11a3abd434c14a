// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// The end of a pod whose spool is thrown away with it (`relay.stop_drain_s`), and of one whose spool is kept.
@Suite(.timeLimit(.minutes(3)))
struct StopDrainTests {
    private let folder = TemporaryFolder()
    private var spool: String { folder.path("spool") }

    private func endpoint() throws -> EndpointProcess {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        // Segments that are open when the end comes.
        let settings = ["SLUICE_SPOOL_SEGMENT_AGE_S": "30"]
        return try EndpointProcess(spool: spool, contract: contract, settings: settings)
    }

    private func startRelay(to url: String, seconds: Double) throws -> RunningProcess {
        let settings = ["SLUICE_RELAY_STOP_DRAIN_S": "\(seconds)", "SLUICE_RELAY_BACKOFF_MIN_S": "0.1"]
        let words = ["run", "--spool", spool, "--graphjson-url", url, "--admin", "off"]
        let relay = try SampleSpool.runner(settings).start("sluice-relay", words)
        #expect(relay.wait(seconds: 20) { relay.errors.contains("Relay started") })
        return relay
    }

    /// Posts batches on four connections until the endpoint takes no more, and ends it after `count` events.
    private func load(_ endpoint: EndpointProcess, until count: Int, then stop: () -> Void) -> Acknowledged {
        let acknowledged = Acknowledged()
        let workers = (0..<4).map { worker in
            let port = endpoint.port
            return SystemThread(name: "client") {
                guard let client = EndpointClient(port: port) else { return }
                for batch in 0..<100_000 {
                    let ids = (0..<10).map { "e-\(worker)-\(batch)-\($0)" }
                    guard let answer = client.post(EndpointProcess.batch(ids)), answer.status == 200 else { return }
                    acknowledged.add(ids)
                }
            }
        }
        endpoint.process.wait(seconds: 60) { acknowledged.count >= count }
        stop()
        for worker in workers { worker.join() }
        return acknowledged
    }

    private func expectDelivered(_ acknowledged: Acknowledged, by stub: StubProcess, _ relay: RunningProcess) throws {
        let result = relay.result(seconds: 90)
        #expect(result.code == 0)
        #expect(result.errors.contains("Spool is empty"))
        let arrived = try stub.events().map(\.id)
        let missing = acknowledged.ids.subtracting(arrived).count
        #expect(missing == 0)
        let repeats = arrived.count - Set(arrived).count
        #expect(repeats == 0)
        for part in ["incoming", "ready", "claimed", "progress"] {
            #expect(try FileSystem.names(in: "\(spool)/\(part)").isEmpty, "\(part)")
        }
    }

    @Test(arguments: [true, false])
    func `what was acknowledged is delivered before both end, stopped together or endpoint first`(
        areTogether: Bool
    ) throws {
        let stub = try StubProcess("--latency-ms", "2")
        let endpoint = try endpoint()
        let relay = try startRelay(to: stub.url, seconds: 60)
        let acknowledged = load(endpoint, until: 2000) {
            endpoint.process.terminate()
            if areTogether { relay.terminate() }
        }
        #expect(endpoint.process.result(seconds: 30).code == 0)
        if !areTogether { relay.terminate() }
        try expectDelivered(acknowledged, by: stub, relay)
    }

    @Test func `what a killed endpoint left open is delivered too`() throws {
        let stub = try StubProcess()
        let endpoint = try endpoint()
        let relay = try startRelay(to: stub.url, seconds: 60)
        let acknowledged = load(endpoint, until: 500) {
            endpoint.process.kill()
            relay.terminate()
        }
        let result = relay.result(seconds: 90)
        #expect(result.code == 0)
        #expect(result.errors.contains("Spool is empty"))
        let missing = acknowledged.ids.subtracting(try stub.events().map(\.id)).count
        #expect(missing == 0)
    }

    @Test(arguments: [1, 2])
    func `what cannot be delivered in time, or shall not be waited for, is counted and kept`(signals: Int) throws {
        let sample = try SampleSpool()
        try sample.fill(100)
        // Port 9 of the loopback is nobody's.
        let settings = ["SLUICE_RELAY_STOP_DRAIN_S": signals == 1 ? "0.5" : "600", "SLUICE_RELAY_BACKOFF_MIN_S": "0.1"]
        let words = ["run", "--spool", sample.path, "--graphjson-url", "http://127.0.0.1:9", "--admin", "off"]
        let relay = try SampleSpool.runner(settings).start("sluice-relay", words)
        #expect(relay.wait(seconds: 20) { relay.errors.contains("Relay started") })
        relay.terminate()
        if signals == 2 {
            #expect(relay.wait(seconds: 20) { relay.errors.contains("empties the spool") })
            relay.terminate()
        }
        let result = relay.result(seconds: 30)
        #expect(result.code == 0)
        #expect(result.errors.contains("Events are left in the spool"))
        #expect(result.errors.contains(#""events.pending":100"#))
        #expect(try sample.unbalanced() == nil)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import SluiceSystem
import SluiceTestSupport
import Testing

/// What a running relay tells machines.
struct RelayHealthTests {
    private func get(_ url: String) throws -> (status: Int, text: String) {
        let completion = HTTPClient.exchange(.get(url))
        guard case .answer(let answer) = completion.result else { return (0, "\(completion)") }
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    private func adminAddress(_ relay: RunningProcess) throws -> String {
        relay.wait(seconds: 30) { relay.errors.contains("admin.address") }
        let marker = #""admin.address":""#
        let rest = try #require(relay.errors.split(separator: marker).dropFirst().first)
        return String(rest.prefix { $0 != "\"" })
    }

    @Test func `metrics tell what was delivered and what waits`() throws {
        let stub = try StubProcess()
        let spool = try SampleSpool()
        try spool.fill(100)
        let relay = try spool.startRun(to: stub)
        let address = try adminAddress(relay)
        relay.wait(seconds: 30) { ((try? stub.statistic("events")) ?? 0) == 100 }
        relay.wait(seconds: 30) {
            ((try? get("http://\(address)/metrics").text) ?? "").contains(
                #"sluice_relay_events_total{result="delivered"} 100"#
            )
        }
        let metrics = try get("http://\(address)/metrics").text
        #expect(metrics.contains(#"sluice_relay_events_total{result="delivered"} 100"#))
        #expect(metrics.contains(#"sluice_relay_requests_total{class="delivered"} 2"#))
        #expect(metrics.contains("sluice_relay_halted 0"))
        #expect(metrics.contains(#"sluice_spool_segments{state="ready"} "#))
        #expect(metrics.contains("sluice_spool_balanced 1"))
        #expect(try get("http://\(address)/healthz").status == 200)
        #expect(try get("http://\(address)/readyz").status == 200)
        relay.terminate()
        #expect(relay.result(seconds: 20).code == 0)
    }

    @Test func `behind a closed destination a relay is not ready, but lives`() throws {
        let stub = try StubProcess("--fail", "401:100000")
        let spool = try SampleSpool()
        try spool.fill(100)
        let relay = try spool.startRun(to: stub)
        let address = try adminAddress(relay)
        relay.wait(seconds: 30) { (try? get("http://\(address)/readyz").status) == 503 }
        let ready = try get("http://\(address)/readyz")
        #expect(ready.status == 503)
        #expect(ready.text.contains("API key"))
        #expect(try get("http://\(address)/healthz").status == 200)
        #expect(try get("http://\(address)/metrics").text.contains("sluice_relay_halted 1"))
        relay.terminate()
        #expect(relay.result(seconds: 20).code == 0)
    }
}

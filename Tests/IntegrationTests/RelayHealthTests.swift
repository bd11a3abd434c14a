// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import SluiceSpool
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

    /// Case C33: with the destination down for a day.
    @Test func `a backlog's age and size are visible, and waiting is told as no fault of the relay`() throws {
        let place = LoopbackSocket.bound(backlog: nil)
        let sample = try SampleSpool()
        let name = SegmentName(
            millisecondsSince1970: Int(SystemClock.system.wallMilliseconds()) - 86_400_000,
            writer: 7,
            sequence: 0
        )
        let seconds = SystemClock.system.wallSeconds - 86_400
        let file = try SegmentFile(
            creating: name,
            in: sample.spool.ready,
            as: name.sealedFileName,
            createdAt: seconds
        )
        var content = ByteBuffer()
        for number in 0..<30 { content.append(SampleSpool.record("e\(number)")) }
        try file.append(content.bytes, records: 30, receivedAt: seconds...seconds)
        try file.finish()
        try Ledger(in: sample.spool).append([.sealed(name, records: 30)])
        let relay = try SampleSpool.runner().start(
            "sluice-relay",
            [
                "run", "--spool", sample.path, "--graphjson-url", "http://127.0.0.1:\(place.port)", "--admin",
                "127.0.0.1:0",
            ]
        )
        let address = try adminAddress(relay)
        relay.wait(seconds: 30) { (try? get("http://\(address)/readyz").status) == 503 }
        let metrics = try get("http://\(address)/metrics").text
        func metric(_ name: String) -> Double? {
            metrics.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
                .flatMap { Double($0.dropFirst(name.utf8.count + 1)) }
        }
        #expect(try #require(metric("sluice_spool_oldest_record_age_seconds")) >= 86_400)
        #expect(metric("sluice_spool_pending_records") == 30)
        #expect(try #require(metric("sluice_relay_backoff_seconds")) >= 0)
        #expect(try get("http://\(address)/healthz").status == 200)
        let status = try sample.relay("status", "--json").output
        #expect(status.contains(#""pending":30"#))
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

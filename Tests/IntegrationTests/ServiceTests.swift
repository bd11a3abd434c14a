// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceHTTP
import SluiceSystem
import SluiceTestSupport
import Testing

/// The programs as a service manager runs them: what they tell systemd, and how a health check asks them.
@Suite(.timeLimit(.minutes(3)))
struct ServiceTests {
    private let folder = TemporaryFolder()

    private func notified() throws -> (socket: NotifySocket, variables: [String: String]) {
        let socket = try #require(NotifySocket(name: folder.path("notify")))
        return (socket, ["NOTIFY_SOCKET": folder.path("notify"), "WATCHDOG_USEC": "200000"])
    }

    /// Ready, alive, reloading, ready again, stopping: in this order, and an end with exit code 0.
    private func observe(_ process: RunningProcess, _ socket: NotifySocket) {
        #expect(socket.receiveState() == "READY=1")
        for _ in 0..<3 {
            var word = socket.receive()
            while word.hasPrefix("STATUS=") { word = socket.receive() }
            #expect(word == "WATCHDOG=1")
        }
        process.hangUp()
        #expect(socket.receiveState().hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(socket.receiveState() == "READY=1")
        process.terminate()
        #expect(socket.receiveState() == "STOPPING=1")
        #expect(process.result(seconds: 20).code == 0)
    }

    private func endpoint(_ settings: [String: String] = [:], admin: String = "off") throws -> EndpointProcess {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        return try EndpointProcess(spool: folder.path("spool"), contract: contract, settings: settings, admin: admin)
    }

    private func startRelay(_ spool: String, _ settings: [String: String] = [:], url: String) throws -> RunningProcess {
        let words = ["run", "--spool", spool, "--graphjson-url", url, "--admin", "off"]
        return try SampleSpool.runner(settings).start("sluice-relay", words)
    }

    @Test func `the endpoint tells systemd what it does`() throws {
        let (socket, variables) = try notified()
        try observe(endpoint(variables).process, socket)
    }

    @Test(arguments: [false, true])
    func `the relay tells systemd what it does, with work that cannot be delivered too`(hasWork: Bool) throws {
        let (socket, variables) = try notified()
        let spool = try SampleSpool()
        if hasWork { try spool.seal([["e1"]]) }
        // Port 9 of the loopback is nobody's.
        try observe(startRelay(spool.path, variables, url: "http://127.0.0.1:9"), socket)
    }

    @Test func `a closed destination is a sentence for systemctl status`() throws {
        let (socket, variables) = try notified()
        let spool = try SampleSpool()
        try spool.seal([["e1"]])
        let relay = try startRelay(spool.path, variables, url: "http://127.0.0.1:9")
        var word = socket.receive()
        while !word.isEmpty && !word.hasPrefix("STATUS=") { word = socket.receive() }
        #expect(word.hasPrefix("STATUS=Waiting for the destination: "))
        relay.terminate()
        #expect(relay.result(seconds: 20).code == 0)
    }

    // MARK: - Health checks

    private func adminAddress(_ process: RunningProcess) throws -> String {
        process.wait(seconds: 30) { process.errors.contains("admin.address") }
        let rest = try #require(process.errors.split(separator: #""admin.address":""#).dropFirst().first)
        return String(rest.prefix { $0 != "\"" })
    }

    @Test func `health asks a running endpoint, and says that there is none`() throws {
        let endpoint = try endpoint(admin: "127.0.0.1:0")
        let address = try adminAddress(endpoint.process)
        let runner = ProcessRunner()
        for words in [["health"], ["health", "--ready"]] {
            let result = try runner.run("sluice-endpoint", words + ["--admin", address])
            #expect(result.code == 0)
            #expect(result.output == "ok\n")
        }
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
        let result = try runner.run("sluice-endpoint", ["health", "--admin", address])
        #expect(result.code == 69)
        #expect(result.errors == "sluice-endpoint: \(address): connect failed: Connection refused\n")
    }

    @Test func `a relay behind a closed destination is healthy, and not ready`() throws {
        let stub = try StubProcess("--fail", "401:100000")
        let spool = try SampleSpool()
        try spool.fill(10)
        let relay = try spool.startRun(to: stub)
        let address = try adminAddress(relay)
        let runner = ProcessRunner()
        var ready = try runner.run("sluice-relay", ["health", "--ready", "--admin", address])
        relay.wait(seconds: 30) {
            ready = (try? runner.run("sluice-relay", ["health", "--ready", "--admin", address])) ?? ready
            return ready.code != 0
        }
        #expect(ready.code == 75)
        #expect(ready.output.contains("API key"))
        #expect(try runner.run("sluice-relay", ["health", "--admin", address]).code == 0)
    }

    @Test(arguments: ["off", "127.0.0.1:0"])
    func `without an admin listener at a known port health can't be asked`(admin: String) throws {
        let result = try ProcessRunner().run("sluice-relay", ["health", "--admin", admin])
        #expect(result.code == 78)
        #expect(result.errors.contains("relay.admin_listen"))
    }

    @Test func `health is not content with any server that answers`() throws {
        let stub = try StubProcess()
        #expect(try ProcessRunner().run("sluice-relay", ["health", "--admin", stub.address]).code == 69)
    }

    // MARK: - Metrics of the spool

    @Test func `the endpoint shows what waits, for who drains by cron`() throws {
        let endpoint = try endpoint(admin: "127.0.0.1:0")
        let address = try adminAddress(endpoint.process)
        #expect(try endpoint.client().post(EndpointProcess.batch(["a", "b"]))?.status == 200)
        func metrics() -> String {
            guard case .answer(let answer) = HTTPClient.exchange(.get("http://\(address)/metrics")).result else {
                return ""
            }
            return String(decoding: answer.body, as: UTF8.self)
        }
        var text = ""
        endpoint.process.wait(seconds: 20) {
            text = metrics()
            return text.contains("\nsluice_spool_accepted_records_total 2\n")
        }
        for line in [
            "sluice_spool_accepted_records_total 2", "sluice_spool_pending_records 2", "sluice_spool_balanced 1",
            "sluice_spool_halted 0", "sluice_spool_limit_bytes 10737418240",
            #"sluice_spool_quarantined_records{reason="upstream_rejected"} 0"#,
            #"sluice_spool_resolved_records_total{result="delivered"} 0"#,
            #"sluice_endpoint_commits_total{result="out_of_space"} 0"#, "sluice_spool_reading_failures_total 0",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line)")
        }
    }

    @Test func `a reason that no program gives is no label`() throws {
        let spool = try SampleSpool()
        try spool.quarantine(["e1", "e2"], sequence: 0, reason: "jane@example.org")
        try spool.quarantine(["e3"], sequence: 1, reason: "upstream_rejected")
        let stub = try StubProcess()
        let relay = try spool.startRun(to: stub)
        let address = try adminAddress(relay)
        guard case .answer(let answer) = HTTPClient.exchange(.get("http://\(address)/metrics")).result else {
            Issue.record("no metrics")
            return
        }
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains(#"sluice_spool_quarantined_records{reason="other"} 2"#))
        #expect(text.contains(#"sluice_spool_quarantined_records{reason="upstream_rejected"} 1"#))
        #expect(!text.contains("jane"))
    }
}

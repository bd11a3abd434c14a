// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Faults of the destination that end while a relay runs, and quarantine rounds, with the real programs.
struct FaultEndTests {
    @Test func `behind a wrong key everything is held, and delivery goes on when the key is taken`() throws {
        let folder = TemporaryFolder()
        let stub = try StubProcess("--unauthorized-until", folder.path("go"))
        let spool = try SampleSpool()
        try spool.fill(5000)
        let relay = try spool.startRun(to: stub, settings: ["SLUICE_RELAY_PROBE_MAX_S": "1"])
        relay.wait(seconds: 30) { ((try? stub.statistic("rejected_requests")) ?? 0) >= 2 }
        relay.wait(seconds: 30) { relay.errors.contains("API key is not accepted") }
        #expect(try stub.statistic("events") == 0)
        try expectBalanced(spool.path)
        // A drain beside it says that the destination refuses everything.
        try spool.fill(10, prefix: "more", firstSequence: 100)
        #expect(try spool.drain(to: stub).code == 69)
        try folder.write("", to: "go")
        relay.wait(seconds: 30) { ((try? stub.statistic("events")) ?? 0) >= 5010 }
        relay.terminate()
        #expect(relay.result(seconds: 20).code == 0)
        #expect(try stub.statistic("distinct_event_ids") == 5010)
        #expect(try stub.statistic("events") == 5010)
        #expect(try FileSystem.names(in: spool.spool.quarantine).allSatisfy { !$0.hasSuffix(".lz4") })
        #expect(relay.errors.contains("API key is not accepted"))
        #expect(!relay.errors.contains("test-key"))
    }

    /// Case C57.
    @Test func `a new key in its file is used by the running relay and by the next drain, without a restart`() throws {
        let stub = try StubProcess()
        let spool = try SampleSpool()
        try spool.fill(100)
        let key = try spool.folder.write("wrong-key", to: "key")
        let runner = ProcessRunner(environment: ["SLUICE_RELAY_PROBE_MAX_S": "0.2"])
        let words = ["--spool", spool.path, "--graphjson-url", stub.url, "--api-key-file", key]
        let refused = try runner.run("sluice-relay", ["drain"] + words)
        #expect(refused.code == 69 && refused.output.contains("; 100 events left in the spool"))
        let relay = try runner.start("sluice-relay", ["run", "--admin", "off"] + words)
        // What the drain found is told by the relay that takes it over.
        #expect(relay.wait(seconds: 20) { relay.errors.contains("API key is not accepted") })
        let file = try spool.folder.write("test-key", to: "new")
        try FileSystem.replace(key, with: file)
        #expect(relay.wait(seconds: 20) { (try? stub.statistic("events")) == 100 })
        relay.terminate()
        let result = relay.result(seconds: 20)
        #expect(result.code == 0)
        try spool.fill(10, prefix: "later", firstSequence: 50)
        #expect(try runner.run("sluice-relay", ["drain"] + words).code == 0)
        #expect(try stub.statistic("distinct_event_ids") == 110)
        #expect(try FileSystem.names(in: spool.spool.quarantine).allSatisfy { !$0.hasSuffix(".lz4") })
        for text in [refused.errors, refused.output, result.errors] {
            #expect(!text.contains("wrong-key") && !text.contains("test-key"))
        }
    }

    /// Case C65.
    @Test func `an unreachable host costs nothing, and delivery goes on when it is there`() throws {
        let spool = try SampleSpool()
        try spool.fill(5000)
        let place = LoopbackSocket.bound(backlog: nil)
        let address = "127.0.0.1:\(place.port)"
        let relay = try SampleSpool.runner(["SLUICE_RELAY_BACKOFF_MAX_S": "0.5"]).start(
            "sluice-relay",
            ["run", "--spool", spool.path, "--graphjson-url", "http://\(address)", "--admin", "127.0.0.1:0"]
        )
        relay.wait(seconds: 30) { relay.errors.contains("Destination closed") }
        try expectBalanced(spool.path)
        let early = try SampleSpool.runner().run(
            "sluice-relay",
            ["drain", "--deadline", "1", "--spool", spool.path, "--graphjson-url", "http://\(address)"]
        )
        #expect(early.code == 75)
        #expect(early.output.hasSuffix("; work remains; 5,000 events left in the spool\n"))
        place.close()
        let stub = try StubProcess(listen: address)
        relay.wait(seconds: 30) { ((try? stub.statistic("events")) ?? 0) >= 5000 }
        relay.terminate()
        #expect(relay.result(seconds: 20).code == 0)
        #expect(try stub.statistic("distinct_event_ids") == 5000)
        #expect(try FileSystem.names(in: spool.spool.quarantine).allSatisfy { !$0.hasSuffix(".lz4") })
    }

    @Test func `a poison record is set aside, comes back by replay, and a second round counts it again`() throws {
        let stub = try StubProcess("--poison", "evt-7")
        let spool = try SampleSpool()
        try spool.fill(50)
        #expect(try spool.drain(to: stub).code == 0)
        #expect(try stub.statistic("events") == 49)
        #expect(try stub.statistic("requests") <= 14)
        let shown = try spool.relay("quarantine", "show")
        #expect(shown.output.contains("upstream_rejected") && shown.output.contains("400"))
        for round in 1...3 {
            let before = try spool.content()
            #expect(try spool.relay("quarantine", "replay", "--dry-run").output.contains("1 record"))
            #expect(try spool.content() == before)
            #expect(try spool.relay("quarantine", "replay").code == 0)
            try expectBalanced(spool.path)
            #expect(try spool.drain(to: stub).code == 0)
            try expectBalanced(spool.path)
            let list = try FileSystem.names(in: spool.spool.quarantine).filter { $0.hasSuffix(".lz4") }
            #expect(list.count == 1)
            let record = try spool.relay("quarantine", "show").output
            #expect(record.contains("\(round)"))
        }
        let healed = try StubProcess()
        #expect(try spool.relay("quarantine", "replay").code == 0)
        #expect(try spool.drain(to: healed).code == 0)
        #expect(try healed.events().map(\.id) == ["evt-7"])
        try expectBalanced(spool.path)
    }
}

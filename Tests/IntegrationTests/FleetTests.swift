// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Many relays on one spool.
@Suite(.timeLimit(.minutes(3)))
struct FleetTests {
    /// Case C69.
    @Test func `four relays of both kinds and a replay send each event once, and the dead ones' claims are taken over`()
        throws
    {
        let stub = try StubProcess("--latency-ms", "5")
        let sample = try SampleSpool()
        try sample.fill(5000, perSegment: 10)
        for number in 0..<5 {
            try sample.quarantine((0..<20).map { "bad-\(number)-\($0)" }, sequence: 500 + number)
        }
        let runs = [try sample.startRun(to: stub), try sample.startRun(to: stub)]
        let drains = [try sample.startDrain(to: stub), try sample.startDrain(to: stub)]
        let replay = try ProcessRunner().start("sluice-relay", ["quarantine", "replay", "--spool", sample.path])
        runs[0].wait(seconds: 60) { ((try? stub.statistic("events")) ?? 0) > 1500 }
        runs[0].kill()
        drains[0].kill()
        #expect(replay.result(seconds: 60).code == 0)
        // Nobody is told: the one that runs finds by itself what the dead ones held.
        let isDone = runs[1].wait(seconds: 60) {
            ((try? stub.statistic("distinct_event_ids")) ?? 0) == 5100
                && ((try? FileSystem.names(in: "\(sample.path)/claimed").count) ?? 0) <= 1
        }
        #expect(isDone)
        #expect([0, 75].contains(drains[1].result(seconds: 60).code))
        runs[1].terminate()
        #expect(runs[1].result(seconds: 20).code == 0)
        #expect(try stub.statistic("distinct_event_ids") == 5100)
        #expect(try stub.statistic("events") <= 5100 + 2 * 16 * 50)
        for relay in [runs[1], drains[1]] {
            #expect(!relay.errors.contains(#""level":"error""#), "\(relay.errors)")
        }
        #expect(try FileSystem.names(in: "\(sample.path)/claimed").isEmpty)
        try expectBalanced(sample.path)
    }

    /// Case C99: nothing here asks the kernel for notices of new files.
    @Test(.enabled(if: Tool.isInstalled("strace"), "needs strace"))
    func `new segments are found by looking, also where inotify is not to be had`() throws {
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let sample = try SampleSpool()
        let calls = "inotify_init,inotify_init1,inotify_add_watch,fanotify_init"
        let relay = try RelayProgram.run(
            sample.path,
            to: server.url,
            prefix: [
                "strace", "-f", "-q", "-o", sample.folder.path("calls"), "-e", "trace=\(calls)", "-e",
                "inject=\(calls):error=EMFILE",
            ]
        )
        for number in 0..<20 { try sample.seal([["e\(number)"]], sequence: number) }
        #expect(relay.wait(seconds: 20) { upstream.taken.count == 20 })
        kill(try RelayProgram.inner(relay), SIGTERM)
        #expect(relay.result(seconds: 20).code == 0)
        let traced = try FileSystem.contents(of: sample.folder.path("calls"), limit: 1 << 20)
        #expect(!String(decoding: traced, as: UTF8.self).contains("notify_"))
        #expect(!relay.errors.contains("No space left"))
    }
}

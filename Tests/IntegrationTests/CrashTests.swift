// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Relays that are killed while they work.
struct CrashTests {
    @Test func `a relay killed at fifty random moments loses nothing and repeats only what was under way`() throws {
        let stub = try StubProcess("--reset-rate", "0.01", "--latency-ms", "20")
        let spool = try SampleSpool()
        var generator = SystemRandomNumberGenerator()
        var filled = 0
        var kills = 0
        let perRound = 10_000
        while kills < 50 {
            // There is always work left at a kill: new segments come before the old ones are gone.
            try spool.fill(perRound, prefix: "evt-\(filled)", firstSequence: filled)
            filled += perRound / 5000
            let before = try stub.statistic("events")
            let relay = try spool.startDrain(to: stub)
            relay.wait(seconds: 30) { ((try? stub.statistic("events")) ?? before) > before }
            let moment = SystemClock.system.monotonicNanoseconds() + Int64.random(in: 0..<60_000_000, using: &generator)
            relay.wait(seconds: 1) { SystemClock.system.monotonicNanoseconds() >= moment }
            #expect(relay.isRunning)
            relay.kill()
            kills += 1
            let problem = try spool.unbalanced()
            #expect(problem == nil)
        }
        let last = try spool.drain(to: stub)
        #expect(last.code == 0, "\(last.output) \(last.errors)")
        try expectBalanced(spool.path)
        let total = filled * 5000
        #expect(try stub.statistic("distinct_event_ids") == total)
        let repeats = try stub.statistic("events") - total
        let resets = try stub.statistic("resets")
        #expect(repeats <= kills * 16 * 50 + resets * 50)
    }

    @Test func `a relay that is told to stop finishes what is under way and leaves nothing claimed`() throws {
        let stub = try StubProcess("--latency-ms", "50")
        let spool = try SampleSpool()
        try spool.fill(20_000)
        for signal in [SIGTERM, SIGINT] {
            let relay = try spool.startRun(to: stub)
            let before = try stub.statistic("events")
            relay.wait(seconds: 30) { ((try? stub.statistic("events")) ?? before) > before }
            if signal == SIGTERM { relay.terminate() } else { relay.interrupt() }
            #expect(relay.result(seconds: 20).code == 0)
            #expect(try FileSystem.names(in: "\(spool.path)/claimed").isEmpty)
            try expectBalanced(spool.path)
        }
        #expect(try spool.drain(to: stub).code == 0)
        #expect(try stub.statistic("events") == 20_000)
        #expect(try stub.statistic("distinct_event_ids") == 20_000)
    }

    @Test func `two drains and a run on one spool send every event once`() throws {
        let stub = try StubProcess("--latency-ms", "5")
        let spool = try SampleSpool()
        try spool.fill(40_000, perSegment: 1000)
        let run = try spool.startRun(to: stub)
        let drains = try (0..<2).map { _ in try spool.startDrain(to: stub) }
        for drain in drains {
            let code = drain.result(seconds: 120).code
            // 75: the others still held claims when nothing was left to take.
            #expect(code == 0 || code == 75)
        }
        run.wait(seconds: 120) { ((try? stub.statistic("events")) ?? 0) >= 40_000 }
        run.terminate()
        #expect(run.result(seconds: 20).code == 0)
        #expect(try stub.statistic("events") == 40_000)
        #expect(try stub.statistic("distinct_event_ids") == 40_000)
        try expectBalanced(spool.path)
        #expect(try FileSystem.names(in: "\(spool.path)/ready").isEmpty)
    }

    /// Case C69.
    @Test func `a claim of a killed relay is taken over by the next, and what was answered is not sent again`() throws {
        let stub = try StubProcess("--latency-ms", "5")
        let spool = try SampleSpool()
        try spool.fill(10_000, perSegment: 10_000)
        let first = try spool.startRun(to: stub)
        first.wait(seconds: 30) { ((try? stub.statistic("events")) ?? 0) > 1000 }
        first.kill()
        #expect(try FileSystem.names(in: "\(spool.path)/claimed").count == 1)
        #expect(try spool.drain(to: stub).code == 0)
        #expect(try stub.statistic("distinct_event_ids") == 10_000)
        #expect(try stub.statistic("events") <= 10_000 + 16 * 50)
        #expect(try FileSystem.names(in: "\(spool.path)/claimed").isEmpty)
    }
}

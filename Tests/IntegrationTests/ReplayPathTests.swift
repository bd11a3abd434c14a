// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Replays with the real programs, beside others and long after.
@Suite(.timeLimit(.minutes(2)))
struct ReplayPathTests {
    private let sample: SampleSpool

    init() throws { sample = try SampleSpool() }

    private func entries() throws -> [Substring] {
        try sample.relay("quarantine", "show", "--json", "--limit", "100000").lines
    }

    /// Case C77.
    @Test func `of a thousand that are replayed the one that is still bad comes back, once, with its count`() throws {
        try sample.quarantine((0..<1000).map { "e\($0)" }, sequence: 0)
        let upstream = Upstream { request, _ in request.ids.contains("e500") ? .status(400, body: "no") : nil }
        let server = upstream.server()
        defer { server.stop() }
        for round in 1...3 {
            #expect(try sample.relay("quarantine", "replay").code == 0)
            let drained = try RelayProgram.drain(sample.path, to: server.url)
            #expect(drained.code == 0, "\(drained.output)")
            #expect(drained.output.contains("quarantined 1 in "))
            #expect(upstream.taken.count == 999 && Set(upstream.taken).count == 999)
            let left = try entries()
            #expect(left.count == 1 && left[0].contains(#""event_id":"e500""#))
            #expect(left[0].contains("\"replays\":\(round),") && !left[0].contains(#""attempts":0"#))
            try expectBalanced(sample.path)
        }
        #expect(try sample.relay("quarantine", "list").output.contains("1 record in all"))
    }

    /// Case C79.
    @Test func `two replays at once beside a running relay put each record back once`() throws {
        for number in 0..<20 {
            try sample.quarantine((0..<50).map { "e\(number)-\($0)" }, sequence: number)
        }
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let relay = try RelayProgram.run(sample.path, to: server.url)
        let replays = try (0..<2).map { _ in
            try ProcessRunner().start("sluice-relay", ["quarantine", "replay", "--spool", sample.path])
        }
        let codes = replays.map { $0.result(seconds: 30).code }
        #expect(codes.contains(0) && codes.allSatisfy { $0 == 0 || $0 == 75 })
        #expect(relay.wait(seconds: 30) { upstream.taken.count >= 1000 })
        relay.terminate()
        #expect(relay.result(seconds: 20).code == 0)
        #expect(upstream.taken.count == 1000 && Set(upstream.taken).count == 1000)
        #expect(try entries().isEmpty)
        try expectBalanced(sample.path)
    }

    /// Case C79: what arrived in truth is known by its content, what may have arrived is told by its reason.
    @Test func `an event that has arrived is not sent again by a replay, and one that may have is marked so`() throws {
        let upstream = Upstream { request, _ in request.ids.contains("unsure") ? .status(500) : nil }
        let server = upstream.server()
        defer { server.stop() }
        try sample.seal([["arrived", "other"]])
        #expect(try RelayProgram.drain(sample.path, to: server.url).code == 0)
        try sample.quarantine(["arrived"], sequence: 1)
        #expect(try sample.relay("find", "arrived").output.contains("delivered before"))
        #expect(try sample.relay("quarantine", "replay").code == 0)
        let drained = try RelayProgram.drain(sample.path, to: server.url)
        #expect(drained.output.contains("duplicate 1"))
        #expect(upstream.taken.count == 2)

        try sample.seal([["unsure"] + (0..<100).map { "good-\($0)" }], sequence: 2)
        let settings = [
            "SLUICE_RELAY_BACKOFF_MIN_S": "0.01", "SLUICE_RELAY_BACKOFF_MAX_S": "0.02",
            "SLUICE_RELAY_POISON_AFTER_S": "0",
        ]
        #expect(try RelayProgram.drain(sample.path, to: server.url, settings: settings).code == 0)
        let left = try entries()
        #expect(left.count == 1)
        #expect(left.first?.contains(#""reason":"upstream_failing""#) == true)
        #expect(left.first?.contains(#""status":500"#) == true)
    }

    /// Case C81.
    @Test(.enabled(if: Tool.isInstalled("faketime"), "the faketime command is not installed"))
    func `six days later a replay sends the old ids and times, and a refusal for age is told and keeps the entry`()
        throws
    {
        let now = SystemClock.system.wallSeconds
        let limit = Lock(now)
        // A destination that takes nothing older than five days.
        let upstream = Upstream { request, _ in
            request.timestamp < limit.withLock { $0 } ? .status(400, body: "timestamp is older than 5 days") : nil
        }
        let server = upstream.server()
        defer { server.stop() }
        try sample.quarantine((0..<10).map { "old-\($0)" }, sequence: 0, at: now)
        try sample.seal([(0..<20).map { "young-\($0)" }], sequence: 1)
        limit.withLock { $0 = 0 }
        #expect(try RelayProgram.drain(sample.path, to: server.url).code == 0)
        limit.withLock { $0 = now + 86_400 }

        let later = ["faketime", "-f", "+6d"]
        let settings = ["FAKETIME_DONT_FAKE_MONOTONIC": "1"]
        func replayLater() throws {
            let replay = try RelayProgram.start(
                ["quarantine", "replay"],
                sample.path,
                settings: settings,
                prefix: later
            ).result(seconds: 30)
            #expect(replay.code == 0, "\(replay.output) \(replay.errors)")
        }
        try replayLater()
        let refused = try RelayProgram.drain(sample.path, to: server.url, settings: settings, prefix: later)
        #expect(refused.code == 0, "\(refused.output) \(refused.errors)")
        let left = try entries()
        #expect(left.count == 10)
        for line in left {
            #expect(line.contains(#""reason":"upstream_rejected""#) && line.contains("older than 5 days"))
            #expect(line.contains(#""occurred_at":1796000000,"#) && line.contains(#""replays":1,"#))
        }
        limit.withLock { $0 = 0 }
        try replayLater()
        #expect(try RelayProgram.drain(sample.path, to: server.url, settings: settings, prefix: later).code == 0)
        let old = upstream.takenRequests.filter { request in request.ids.contains { $0.hasPrefix("old-") } }
        let ids = old.reduce(into: [String]()) { $0 += $1.ids }
        #expect(ids.sorted() == (0..<10).map { "old-\($0)" })
        #expect(old.allSatisfy { $0.timestamp == 1_796_000_000 })
        #expect(old.allSatisfy { $0.events.allSatisfy { $0.contains(#""occurred_at":1796000000,"#) } })
        #expect(try entries().isEmpty)
        try expectBalanced(sample.path)
    }
}

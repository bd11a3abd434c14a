// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceEndpoint
import SluiceEvents
import SluiceServer
import SluiceSpool
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

/// What is answered when events cannot be stored, and that it passes by itself.
@Suite(.timeLimit(.minutes(2)))
struct DurabilityTests {
    private func expectUnavailable(_ answer: RawAnswer, _ code: String) {
        #expect(answer.status == 503)
        #expect(answer.member("code") == code)
        #expect((answer.header("Retry-After").flatMap { Int($0) } ?? 0) >= 1)
        #expect(!answer.body.contains("accepted"))
    }

    private func waitUntilReady(_ probe: EndpointProbe, _ wanted: Bool = true) async throws {
        let isReady = try await onThread { () -> Bool in
            for _ in 0..<2000 {
                if probe.health.readinessProblems.isEmpty == wanted { return true }
                usleep(10_000)  // another thread makes it so and has no way to wake this one
            }
            return false
        }
        #expect(isReady)
    }

    /// Cases C33 and C51.
    @Test func `a spool at its limit is 503 and not ready, and taken again once there is room`() async throws {
        let probe = try EndpointProbe(start: {
            $0.writer.maximumSpoolBytes = 300_000
            $0.writer.sealAge = .milliseconds(20)
        })
        var random = SystemRandomNumberGenerator()
        var accepted = 0
        while accepted < 1000 {
            let noise = (0..<12).map { _ in String(random.next(), radix: 36) }.joined()
            let answer = try await probe.post(Batch.of(50, ["properties": "{\"note\":\"\(noise)\"}"]))
            if answer.status == 200 {
                accepted += 1
                continue
            }
            expectUnavailable(answer, "out_of_space")
            break
        }
        #expect(accepted > 0 && accepted < 1000)
        try await waitUntilReady(probe, false)
        #expect(probe.log.messages.count { $0 == "Spool takes no events" } == 1)
        let ready = "\(probe.spoolPath)/ready"
        for name in try FileSystem.names(in: ready) { try FileSystem.remove("\(ready)/\(name)") }
        // Nobody posts meanwhile: it has to find out by itself.
        try await waitUntilReady(probe)
        #expect(try await probe.post(Batch.of(1)).status == 200)
        #expect(probe.log.messages.contains("Spool takes events again"))
    }

    /// Case C97.
    @Test func `a removed spool is never answered 200`() async throws {
        let probe = try EndpointProbe()
        #expect(try await probe.post(Batch.of(1)).status == 200)
        for part in ["incoming", "ready"] {
            let path = "\(probe.spoolPath)/\(part)"
            for name in try FileSystem.names(in: path) { try FileSystem.remove("\(path)/\(name)") }
            try FileSystem.removeFolder(path)
        }
        expectUnavailable(try await probe.post(Batch.of(1)), "write_failed")
        try await waitUntilReady(probe, false)
        for part in ["incoming", "ready"] { try FileSystem.makeFolder("\(probe.spoolPath)/\(part)") }
        try await waitUntilReady(probe)
        #expect(try await probe.post(Batch.of(1)).status == 200)
    }

    @Test func `a wrong clock is 503 and not ready until it is right`() async throws {
        let probe = try EndpointProbe()
        #expect(try await probe.post(Batch.of(1)).status == 200)
        probe.wall.stepWall(milliseconds: -40_000_000_000)
        expectUnavailable(try await probe.post(Batch.of(1)), "server_clock_wrong")
        try await waitUntilReady(probe, false)
        probe.wall.stepWall(milliseconds: 40_000_000_000)
        #expect(try await probe.post(Batch.of(1)).status == 200)
        try await waitUntilReady(probe)
    }

    @Test func `a clock more than a day before the ledger is wrong`() {
        let clock = ManualClock(wallMilliseconds: 1_796_000_000_000)
        let guardian = ClockGuard(newestLedgerSeconds: 1_796_086_400, clock: clock.clock)
        #expect(guardian.problem == nil)
        clock.stepWall(milliseconds: -1000)
        #expect(guardian.problem != nil)
        #expect(ClockGuard(newestLedgerSeconds: 0).problem(at: ClockGuard.buildSeconds - 1) != nil)
        #expect(ClockGuard(newestLedgerSeconds: 0).problem(at: ClockGuard.buildSeconds) == nil)
    }

    @Test func `one address gets an eighth of the memory for bodies`() async throws {
        let probe = try EndpointProbe(settings: {
            $0.maximumBufferedBytes = 80_000
            $0.limits.maximumBodyBytes = 50_000
        })
        let small = Batch.body(Batch.event("e")) + String(repeating: " ", count: 5_000)
        #expect(try await probe.post(small).status == 200)
        let large = Batch.body(Batch.event("e")) + String(repeating: " ", count: 20_000)
        expectUnavailable(try await probe.post(large), "address_overloaded")
        #expect(try await probe.post(small).status == 200)
        #expect(probe.metric("sluice_endpoint_buffered_bytes") == 0)
    }

    @Test func `when memory is spent the slowest body is given up`() async throws {
        let probe = try EndpointProbe(settings: {
            $0.maximumBufferedBytes = 40_000
            $0.limits.maximumBodyBytes = 50_000
            $0.slowBodyAge = .zero
            // Behind a proxy that does not say for whom, no address has a share.
            $0.trustedProxies = NetworkList(parsing: ["127.0.0.1"]) ?? NetworkList()
        })
        let head =
            "POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 45000\r\n\r\n"
        let isClosed = try await onThread { () -> Bool in
            let slow = probe.connect()
            slow.send(Array((head + String(repeating: " ", count: 39_000)).utf8))
            while (probe.metric("sluice_endpoint_buffered_bytes") ?? 0) < 39_000 { usleep(1000) }
            let other = probe.connect()
            other.send(Array((head + String(repeating: " ", count: 45_000)).utf8))
            let answers = RawAnswer.all(slow.receiveAll())
            let refused = RawAnswer.all(other.receive())
            return answers.isEmpty && refused.first?.status == 503
        }
        #expect(isClosed)
        #expect(try await probe.post(Batch.of(1)).status == 200)
    }

    @Test func `stopping answers what is under way and seals`() async throws {
        let probe = try EndpointProbe()
        let idle = probe.connect()
        let half = probe.connect()
        half.send(EndpointProbe.request(Array(Batch.of(1).utf8)).dropLast(5))
        let answers = try await withThrowingTaskGroup(of: [RawAnswer].self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await probe.exchange(EndpointProbe.request(Array(Batch.of(5, prefix: "\(number)-").utf8)))
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        half.send(EndpointProbe.request(Array(Batch.of(1).utf8)).suffix(5))
        try await onThread { probe.endpoint.stop() }
        let acknowledged = answers.count { $0.status == 200 }
        let last = RawAnswer.all(try await onThread { half.receiveAll() })
        #expect([[200], [503]].contains(last.map(\.status)))
        #expect(try probe.lines().count >= acknowledged * 5)
        #expect(try FileSystem.names(in: "\(probe.spoolPath)/incoming").isEmpty)
        withExtendedLifetime(idle) {}
    }

    @Test func `a policy can be replaced while requests come`() async throws {
        let probe = try EndpointProbe()
        #expect(try await probe.post(Batch.of(1)).body.contains(#""rejected":[]"#))
        let contract = try Contract(
            #"{contract_version:"2",schema_versions:{min:1,max:1},events:{other:{properties:{}}}}"#
        )
        probe.endpoint.policy = EndpointProbe.policy(contract: contract)
        #expect(try await probe.post(Batch.of(1)).body.contains("unsupported_event"))
        #expect(try await probe.post(Batch.of(2, ["event": #""other""#])).body.contains(#""rejected":[]"#))
        #expect(probe.metric(#"sluice_endpoint_events_total{event="other",result="accepted",code=""}"#) == 2)
    }
}

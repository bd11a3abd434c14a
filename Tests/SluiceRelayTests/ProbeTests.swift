// SPDX-License-Identifier: Apache-2.0
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Which records are sent while the road is closed, to see whether it is open again.
struct ProbeTests {
    /// Answers 500 to every request that holds a poison event, and else what the outage says.
    private func upstream(outage: @escaping @Sendable (Int) -> ScriptedServer.Step? = { _ in nil }) -> Upstream {
        Upstream { request, number in
            if let step = outage(number) { return step }
            return request.ids.contains { $0.hasPrefix("poison") } ? .status(500) : nil
        }
    }

    /// Forty records that the destination fails on, each in a request of its own, and three thousand good ones behind them.
    private func fill(_ fixture: RelayFixture) throws {
        try fixture.seal((0..<40).map { RelayFixture.record("poison-\($0)", timestamp: 1_796_000_000 + $0) })
        try fixture.seal((0..<3000).map { RelayFixture.record("good-\($0)", timestamp: 1_796_001_000 + $0 / 50) })
    }

    @Test(arguments: [nil, 503, 429, 401])
    func `records that fail do not keep the good ones behind them, also after an outage or a halt`(
        status: Int?
    ) throws {
        let upstream = upstream { number in
            guard let status, (20..<40).contains(number) else { return nil }
            return .status(status)
        }
        let fixture = try RelayFixture(upstream)
        try fill(fixture)
        let control = RelayControl()
        // A drain would end at a halt.
        fixture.options.mode = .run
        let relay = try fixture.relay(control)
        let start = SystemClock.system.monotonicNanoseconds()
        relay.onProgress = { count in
            if count >= 3000 || SystemClock.system.monotonicNanoseconds() - start > 15_000_000_000 { control.stop() }
        }
        #expect(try relay.run().counts.delivered == 3000)
        #expect(try SpoolStatus.read(fixture.spool).balanced)
    }

    @Test func `a probe is a record that has not failed, if there is one`() throws {
        let asked: Set<Int> = [45, 47, 49, 51]
        let upstream = upstream { asked.contains($0) ? .status(429, headers: ["Retry-After: 0"]) : nil }
        let fixture = try RelayFixture(upstream)
        try fill(fixture)
        fixture.options.maximumInFlight = 1
        fixture.options.mode = .drain(deadlineSeconds: 2)
        try fixture.drain()
        let requests = upstream.requests
        try #require(requests.count > 52)
        for number in asked {
            let before = Set(requests[..<number].flatMap(\.ids))
            #expect(before.isDisjoint(with: requests[number + 1].ids))
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Faults of single chunks and records: the others are delivered once, and the right records are set aside.
struct ChunkFaultTests {
    /// Case C53.
    @Test func `a poison record in each of ten chunks costs nobody else, and few requests`() throws {
        let poison = Set((0..<10).map { "evt_\($0 * 50 + $0 * 5)" })
        let upstream = Upstream { request, _ in
            poison.isDisjoint(with: request.ids) ? nil : .status(400, body: String(repeating: "too long ", count: 100))
        }
        let fixture = try RelayFixture(upstream)
        try fixture.seal([RelayFixture.record("first", timestamp: 1_795_000_000)])
        try fixture.drain()
        try fixture.seal(RelayFixture.records(0..<500))
        #expect(try fixture.drain().counts.delivered == 490)
        #expect(upstream.taken.count == 491 && Set(upstream.taken).count == 491)
        // Twice six steps of halving, the whole, and the record alone once more.
        #expect(upstream.requests.count <= 1 + 10 * 14)
        let entries = try fixture.quarantined()
        #expect(entries.count == 10 && Set(entries.map(\.id)) == poison)
        #expect(entries.allSatisfy { $0.line.contains(#""status":400"#) && $0.line.utf8.count < 1200 })
        #expect(try SpoolStatus.read(fixture.spool).balanced)
    }

    /// Case C59: sizes are those of what is sent, in bytes.
    @Test(arguments: ["x", "\u{1F600}", #"\"\\\n"#])
    func `a request that is too large is halved until it fits, and the next ones are full again`(unit: String) throws {
        let large = (0..<49).map {
            RelayFixture.record("big_\($0)", properties: #"{"text":"\#(String(repeating: unit, count: 100))"}"#)
        }
        // Room for five of them; one more is larger than that alone.
        let limit = Lock(Int.max)
        let upstream = Upstream { request, _ in
            request.events.reduce(0) { $0 + $1.utf8.count } > limit.withLock { $0 } ? .status(413) : nil
        }
        let fixture = try RelayFixture(upstream)
        try fixture.seal([large[0].replacing("big_0", with: "first")])
        try fixture.drain()
        let size = upstream.takenEvents[0].utf8.count
        limit.withLock { $0 = size * 5 + 5 }
        let giant = RelayFixture.record("giant", properties: #"{"text":"\#(String(repeating: unit, count: 5000))"}"#)
        try fixture.seal(large[..<20] + [giant] + large[20...])
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 49 && summary.halt == nil)
        #expect(upstream.taken.count == 50 && Set(upstream.taken).count == 50)
        #expect(upstream.requests.count { $0.ids == ["giant"] } == 1)
        #expect(try fixture.quarantined().map(\.id) == ["giant"])
        #expect(try fixture.quarantined().map(\.reason) == ["payload_too_large"])
        #expect(GateFile(in: fixture.spool).current()?.closedUntilMilliseconds == 0)
        // Small ones that follow share a request again.
        limit.withLock { $0 = Int.max }
        let before = upstream.requests.count
        try fixture.seal(RelayFixture.records(0..<50))
        #expect(try fixture.drain().counts.delivered == 50)
        #expect(upstream.requests.count == before + 1)
    }

    /// Case C66.
    @Test func `after a chunk has failed only what is not delivered goes on, in the same bytes`() throws {
        let upstream = Upstream { _, number in number == 1 ? .status(503) : nil }
        let fixture = try RelayFixture(upstream)
        fixture.options.maximumInFlight = 1
        try fixture.seal(RelayFixture.records(0..<101))
        #expect(try fixture.drain().counts.delivered == 101)
        #expect(upstream.taken.count == 101 && Set(upstream.taken).count == 101)
        let bodies = fixture.server.requests.map(\.body)
        #expect(bodies.count == 4)
        #expect(bodies.count { $0 == bodies[1] } == 2)
    }

    /// Case C75: an invalid record and one that the destination refuses, side by side.
    @Test(arguments: [0, 24, 48])
    func `records that cannot be sent shift nobody's place`(place: Int) throws {
        let upstream = Upstream { request, _ in request.ids.contains("refused") ? .status(400) : nil }
        let fixture = try RelayFixture(upstream)
        var records = RelayFixture.records(0..<50)
        records[place] = RelayFixture.record("nested", properties: #"{"a":{"b":1}}"#)
        records[place + 1] = RelayFixture.record("refused")
        try fixture.seal(records)
        #expect(try fixture.drain().counts.delivered == 48)
        let good = (0..<50).filter { $0 != place && $0 != place + 1 }.map { "evt_\($0)" }
        #expect(upstream.taken.sorted() == good.sorted())
        let entries = try fixture.quarantined().sorted { $0.id < $1.id }
        #expect(entries.map(\.id) == ["nested", "refused"])
        #expect(entries.map(\.reason) == ["invalid_record", "upstream_rejected"])
        #expect(entries[0].line.contains("\"index\":\(place)}") && entries[1].line.contains("\"index\":\(place + 1)}"))
    }

    /// Case C70: what fails waits, and is never given up while nothing says that it is at fault.
    @Test func `a segment that always fails does not hold up twenty-five others, and is kept`() throws {
        let upstream = Upstream { request, _ in request.ids.contains { $0.hasPrefix("A") } ? .status(500) : nil }
        let fixture = try RelayFixture(upstream)
        fixture.options.mode = .drain(deadlineSeconds: nil)
        fixture.options.drainPatienceSeconds = 0.3
        for (number, letter) in "ABCDEFGHIJKLMNOPQRSTUVWXYZ".enumerated() {
            let time = 1_796_000_000 + number
            try fixture.seal((0..<50).map { RelayFixture.record("\(letter)\($0)", timestamp: time) })
        }
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 1250 && summary.isWorkLeft)
        #expect(upstream.taken.count == 1250 && Set(upstream.taken).count == 1250)
        #expect(try fixture.quarantined().isEmpty)
        let status = try SpoolStatus.read(fixture.spool)
        #expect(status.balanced && status.pending == 50)
    }
}

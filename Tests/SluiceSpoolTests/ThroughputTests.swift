// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// What was accepted and delivered in the last hour, by the ledger of a real spool.
struct ThroughputTests {
    private let fixture: SpoolFixture

    init() throws { fixture = try SpoolFixture() }

    /// Notes a segment as sealed and delivered.
    private func pass(_ sequence: UInt64, records: Int) throws {
        var counts = OutcomeCounts()
        counts.delivered = records
        let name = fixture.name(sequence)
        try fixture.ledger.append([.sealed(name, records: records), .finished(name, counts)])
    }

    private func minutes(_ status: SpoolStatus) -> [Throughput.Interval] {
        status.throughput.minutes(now: Int(status.takenAtMilliseconds / 1000))
    }

    private func anew() throws -> SpoolStatus { try SpoolStatus.read(fixture.spool, clock: fixture.clock.clock) }

    @Test func `records count in the minute of their lines`() throws {
        var reading = SpoolStatusReading(of: fixture.spool, clock: fixture.clock.clock)
        try pass(0, records: 600)
        fixture.clock.advance(milliseconds: 120_000)
        try pass(1, records: 60)
        let status = try reading.read()
        #expect(minutes(status).count == 60)
        #expect(minutes(status).suffix(3).map(\.accepted) == [600, 0, 60])
        #expect(minutes(status).suffix(3).map(\.delivered) == [600, 0, 60])
        #expect(status.rates.accepted == 2.2)
    }

    @Test func `reading on gives what reading anew gives`() throws {
        var reading = SpoolStatusReading(of: fixture.spool, clock: fixture.clock.clock)
        for sequence in 0..<10 {
            try pass(UInt64(sequence), records: 10)
            fixture.clock.advance(milliseconds: 60_000)
            let status = try reading.read()
            #expect(status.throughput == (try anew()).throughput)
            #expect(minutes(status).reduce(0) { $0 + $1.accepted } == 10 * (sequence + 1))
        }
    }

    @Test func `a ledger that was folded takes nothing of the hour away`() throws {
        var reading = SpoolStatusReading(of: fixture.spool, clock: fixture.clock.clock)
        try pass(0, records: 10)
        let before = try reading.read()
        fixture.clock.advance(milliseconds: 600_000)
        let folded = try Ledger(in: fixture.spool, clock: fixture.clock.clock, foldingBytes: 1)
        #expect(try folded.foldIfLarge())
        try pass(1, records: 5)
        #expect(minutes(before).reduce(0) { $0 + $1.accepted } == 10)
        #expect(minutes(try reading.read()).reduce(0) { $0 + $1.accepted } == 15)
        #expect(minutes(try anew()).reduce(0) { $0 + $1.accepted } == 5, "the ledger itself has forgotten")
    }

    @Test func `what is older than an hour does not count`() throws {
        try pass(0, records: 10)
        fixture.clock.advance(milliseconds: 3_700_000)
        let status = try anew()
        #expect(minutes(status).allSatisfy { $0.accepted == 0 } && status.rates.accepted == 0)
    }
}

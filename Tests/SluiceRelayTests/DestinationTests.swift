// SPDX-License-Identifier: Apache-2.0
import SluiceGraphJSON
import SluiceRelay
import SluiceSystem
import Testing

/// Second by second courses of answers, without clock and network.
struct DestinationTests {
    private static let second: Int64 = 1_000_000_000

    private var options: RelayOptions
    private var destination: Destination
    private var now: Int64 = 0
    private var family = 0

    init() throws {
        options = RelayOptions(mode: .run, target: try GraphJSONTarget(url: "http://127.0.0.1:1"))
        destination = Destination(options: options, hasTakenRecords: true)
    }

    private mutating func chunk(_ count: Int) -> Chunk {
        family += 1
        return Chunk.sample(count, family: family)
    }

    private mutating func answer(_ chunk: Chunk, _ verdict: Verdict, random: Double = 1) -> Destination.Settlement {
        let isProbe = destination.start()
        return destination.settle(
            chunk,
            verdict,
            startedAt: now,
            isProbe: isProbe,
            now: now,
            random: random
        )
    }

    private let delivered = Verdict(.delivered, .delivered, summary: "HTTP 200")
    private let rejected = Verdict(.rejected, .rejected, status: 400, summary: "HTTP 400", excerpt: "no")
    private let failing = Verdict(.retry(after: nil, closesGate: false), .serverError, status: 500, summary: "HTTP 500")
    private let unreachable = Verdict(.retry(after: nil, closesGate: true), .connect, summary: "refused")
    private let tooLarge = Verdict(.split, .payloadTooLarge, status: 413, summary: "HTTP 413")
    private let unauthorized = Verdict(.halt, .unauthorized, status: 401, summary: "HTTP 401")

    private func limited(_ seconds: Int) -> Verdict {
        Verdict(.retry(after: .seconds(seconds), closesGate: true), .rateLimited, status: 429, summary: "HTTP 429")
    }

    private func expect(
        _ settlement: Destination.Settlement,
        _ wanted: Destination.Settlement,
        at place: SourceLocation = #_sourceLocation
    ) {
        #expect(settlement == wanted, sourceLocation: place)
    }

    // MARK: Records

    @Test mutating func `a rejected chunk is split until the record stands alone and is refused there twice`() {
        var remaining = chunk(50)
        var requests = 0
        // The worst case: the bad record is always in the larger half, the other half is taken.
        while remaining.count > 1 {
            expect(answer(remaining, rejected), .split)
            requests += 1
            let larger = (remaining.count + 1) / 2
            let good = remaining.count - larger
            remaining = chunk(larger)
            expect(answer(chunk(good), delivered), .delivered)
            requests += 1
        }
        expect(answer(remaining, rejected), .again)
        let cause = QuarantineCause(.upstreamRejected, detail: "HTTP 400: no", status: 400)
        expect(answer(remaining, rejected), .quarantine(cause))
        #expect(requests + 2 == 14)
    }

    @Test mutating func `a record that is too large alone goes to quarantine at once and closes nothing`() {
        expect(answer(chunk(2), tooLarge), .split)
        expect(answer(chunk(1), tooLarge), .quarantine(QuarantineCause(.payloadTooLarge, tooLarge)))
        #expect(destination.closure == nil)
    }

    @Test mutating func `records are held until the destination has taken its first one`() {
        destination = Destination(options: options, hasTakenRecords: false)
        let bad = chunk(1)
        expect(answer(bad, rejected), .again)
        expect(answer(bad, rejected), .hold(QuarantineCause(.upstreamRejected, rejected)))
        #expect(!destination.mayQuarantine)
        expect(answer(chunk(1), delivered), .delivered)
        #expect(destination.mayQuarantine)
    }

    @Test mutating func `when nearly everything is refused it halts, and one delivery lifts the halt`() {
        var given = 0
        while !destination.isHalted && given < 100 {
            let bad = chunk(1)
            _ = answer(bad, rejected)
            _ = answer(bad, rejected)
            given += 1
        }
        #expect(given == 50)
        #expect(destination.closure?.kind == .massRejection)
        #expect(!destination.mayQuarantine)
        now += 2 * Self.second
        #expect(destination.readiness(at: now) == .probe)
        expect(answer(chunk(1), delivered), .delivered)
        #expect(!destination.isHalted)
        // From then on rejected records go to quarantine at any share.
        for _ in 0..<300 {
            let bad = chunk(1)
            _ = answer(bad, rejected)
            expect(answer(bad, rejected), .quarantine(QuarantineCause(.upstreamRejected, rejected)))
        }
    }

    @Test mutating func `rejections beside enough deliveries halt nothing`() {
        for _ in 0..<100 {
            expect(answer(chunk(1), delivered), .delivered)
            let bad = chunk(1)
            _ = answer(bad, rejected)
            expect(answer(bad, rejected), .quarantine(QuarantineCause(.upstreamRejected, rejected)))
        }
    }

    // MARK: The gate

    @Test mutating func `the time that was asked for is kept, then one probe goes out`() {
        expect(answer(chunk(50), limited(120)), .back)
        #expect(destination.readiness(at: now) == .closed(until: 120 * Self.second))
        now = 120 * Self.second
        #expect(destination.readiness(at: now) == .probe)
        _ = destination.start()
        #expect(destination.readiness(at: now) == .busy)
    }

    @Test mutating func `a request that was under way when the gate closed does not open it`() {
        let first = destination.start()
        let second = destination.start()
        _ = destination.settle(chunk(1), limited(60), startedAt: 0, isProbe: first, now: 0, random: 1)
        _ = destination.settle(chunk(1), delivered, startedAt: 0, isProbe: second, now: 1, random: 1)
        #expect(destination.readiness(at: 2) == .closed(until: 60 * Self.second))
    }

    @Test mutating func `an unreachable destination closes the gate at once, longer each time, up to a minute`() {
        var waits: [Int64] = []
        for _ in 0..<9 {
            expect(answer(chunk(50), unreachable), .back)
            let until = destination.closure?.until ?? 0
            waits.append((until - now) * 2 / Self.second)
            now = until
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 64, 120, 120])
    }

    /// Case C70: ten minutes of an outage, seen by relays of twenty spools.
    @Test func `twenty relays neither hammer a destination that is down nor come back in step`() {
        var generator = SystemRandomNumberGenerator()
        let end = 600 * Self.second
        var probes: [Int] = []
        var first: [Int64] = []
        for _ in 0..<20 {
            var relay = Destination(options: options, hasTakenRecords: true)
            var moment: Int64 = 0
            var count = 0
            while moment < end {
                let isProbe = relay.start()
                let random = Double.random(in: 0..<1, using: &generator)
                _ = relay.settle(
                    Chunk.sample(50, family: 1),
                    unreachable,
                    startedAt: moment,
                    isProbe: isProbe,
                    now: moment,
                    random: random
                )
                count += 1
                let until = relay.closure?.until ?? moment
                #expect(until <= moment + 60 * Self.second)
                moment = max(until, moment + 1)
            }
            probes.append(count)
            first.append(moment)
            // One delivery opens the road at once, whatever the outage's length.
            let isProbe = relay.start()
            let settlement = relay.settle(
                Chunk.sample(50, family: 1),
                delivered,
                startedAt: moment,
                isProbe: isProbe,
                now: moment,
                random: 0
            )
            #expect(settlement == .delivered && relay.closure == nil)
        }
        // Sixty seconds at most and thirty on average between two, once it has grown.
        #expect(probes.allSatisfy { (10...80).contains($0) })
        #expect(Set(first.map { ($0 - end) / (Self.second / 2) }).count >= 10)
    }

    @Test mutating func `ten failures over three chunks without a success close the gate`() {
        let chunks = [chunk(50), chunk(50), chunk(50)]
        for round in 0..<9 { expect(answer(chunks[round % 3], failing), .again) }
        #expect(destination.closure == nil)
        expect(answer(chunks[0], failing), .back)
        #expect(destination.closure?.kind == .outage)
    }

    @Test mutating func `one chunk that fails for ever closes nothing`() {
        let bad = chunk(1)
        for _ in 0..<50 { expect(answer(bad, failing), .again) }
        #expect(destination.closure == nil)
        #expect(destination.limit >= 1)
    }

    @Test mutating func `a chunk that fails while others get through is halved after five failures`() {
        let bad = chunk(50)
        expect(answer(bad, failing), .again)
        expect(answer(chunk(50), delivered), .delivered)
        for _ in 0..<3 { expect(answer(bad, failing), .again) }
        expect(answer(bad, failing), .split)
    }

    @Test mutating func `a chunk that fails with nothing beside it is halved, one step in five failures`() {
        let bad = chunk(50)
        for failures in 1...20 { expect(answer(bad, failing), failures % 5 == 0 ? .split : .again) }
    }

    @Test mutating func `chunks that all fail are not halved`() {
        let chunks = (0..<3).map { _ in chunk(50) }
        for chunk in chunks { expect(answer(chunk, failing), .again) }
        for _ in 0..<20 { for chunk in chunks { #expect(answer(chunk, failing) != .split) } }
    }

    @Test mutating func `a record that fails ten times over an hour while others get through is given up`() {
        let bad = chunk(1)
        expect(answer(bad, failing), .again)
        expect(answer(chunk(50), delivered), .delivered)
        for _ in 0..<20 { expect(answer(bad, failing), .again) }
        now += 3600 * Self.second
        expect(answer(bad, failing), .quarantine(QuarantineCause(.upstreamFailing, failing)))
    }

    @Test mutating func `a record that failed in earlier runs is given up once others get through in this one`() {
        let bad = chunk(1)
        bad.resume(failures: 9, firstFailureAt: now - 3600 * Self.second)
        expect(answer(bad, failing), .again)
        #expect(!destination.isSuspect(bad))
        expect(answer(bad, failing), .again)
        expect(answer(chunk(50), delivered), .delivered)
        #expect(destination.isSuspect(bad))
        expect(answer(bad, failing), .quarantine(QuarantineCause(.upstreamFailing, failing)))
        #expect(bad.attempts == 12)
    }

    @Test mutating func `a record is not given up while nothing else gets through`() {
        let bad = chunk(1)
        for _ in 0..<20 { _ = answer(bad, failing) }
        now += 7200 * Self.second
        expect(answer(bad, failing), .again)
    }

    // MARK: Halts

    @Test mutating func `a wrong key halts and is probed after one second, doubling to thirty`() {
        var waits: [Int64] = []
        for _ in 0..<8 {
            expect(answer(chunk(50), unauthorized), .back)
            let until = destination.closure?.until ?? 0
            waits.append((until - now) / Self.second)
            now = until
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30])
        #expect(destination.isHalted)
        expect(answer(chunk(50), delivered), .delivered)
        #expect(!destination.isHalted)
        #expect(destination.readiness(at: now) == .open)
    }

    @Test mutating func `many requests that find the key wrong at once count as one attempt`() {
        let probes = (0..<4).map { _ in destination.start() }
        for isProbe in probes {
            _ = destination.settle(chunk(1), unauthorized, startedAt: 0, isProbe: isProbe, now: 0, random: 1)
        }
        #expect(destination.closure?.attempt == 1)
        #expect(destination.closure?.until == Self.second)
    }

    // MARK: Concurrency

    /// Lets `count` requests that are under way at once end with one verdict.
    private mutating func burst(_ count: Int, _ verdict: Verdict) {
        now += 10
        let started = (0..<count).map { _ in destination.start() }
        now += 10
        for isProbe in started {
            _ = destination.settle(chunk(50), verdict, startedAt: now - 10, isProbe: isProbe, now: now, random: 1)
        }
    }

    @Test mutating func `concurrency grows with success to its limit and halves when all that is under way fails`() {
        for _ in 0..<100 { _ = answer(chunk(50), delivered) }
        #expect(Int(destination.limit) == options.maximumInFlight)
        burst(options.maximumInFlight, failing)
        #expect(Int(destination.limit) == options.maximumInFlight / 2)
        for _ in 0..<100 { _ = answer(chunk(50), delivered) }
        #expect(Int(destination.limit) > options.maximumInFlight / 2)
    }

    @Test mutating func `concurrency halves once for a burst of answers that ask for less`() {
        for _ in 0..<100 { _ = answer(chunk(50), delivered) }
        burst(4, limited(1))
        #expect(Int(destination.limit) == options.maximumInFlight / 2)
    }

    @Test(arguments: [(100, 100.0...256), (10, 10...30), (4, 3...10), (2, 1...3)])
    mutating func `concurrency settles by the share that fails`(oneIn: Int, range: ClosedRange<Double>) {
        options.maximumInFlight = 256
        destination = Destination(options: options, hasTakenRecords: true)
        for number in 0..<100_000 { _ = answer(chunk(50), number % oneIn == 0 ? failing : delivered) }
        #expect(range.contains(destination.limit), "\(destination.limit)")
    }
}

extension Chunk {
    /// A chunk of made-up records.
    static func sample(_ count: Int, family: Int) -> Chunk {
        let chunk = Chunk(family: family)
        for index in 0..<count {
            chunk.append(
                UnsafeRawBufferPointer(start: nil, count: 0),
                of: RecordReference(slot: 0, frameOffset: 0, index: index)
            )
        }
        return chunk
    }
}

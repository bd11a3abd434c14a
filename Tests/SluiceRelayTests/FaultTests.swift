// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceGraphJSON
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Faults of the disk and of the spool under a relay: what can be delivered is, and the books stay right.
struct FaultTests {
    @Test func `a segment that is finished in the ledger is removed, never sent`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        let segment = try fixture.seal(RelayFixture.records(0..<10))
        var counts = OutcomeCounts()
        counts.delivered = 10
        // As a relay leaves it that put an adopted claim back before it looked at it.
        try Ledger(in: fixture.spool).append([.finished(segment, counts)])
        let summary = try fixture.drain()
        #expect(!summary.isWorkLeft)
        #expect(upstream.requests.isEmpty)
        #expect(fixture.readyNames.isEmpty)
        #expect(try SpoolStatus.read(fixture.spool).balanced)
    }

    @Test(arguments: [true, false])
    func `a segment without a line in the ledger gets one from its claimant`(footer: Bool) throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<10), footer: footer, isNoted: false)
        try fixture.drain()
        let status = try SpoolStatus.read(fixture.spool)
        #expect(status.balanced, "\(status.problems)")
        #expect(status.notes == [])
        #expect(status.accepted == 10)
        #expect(status.counts.delivered == 10)
        #expect(upstream.taken.count == 10)
    }

    /// Whichever of the two requests fails first, and if there is only one.
    @Test(arguments: [0, 1, 40])
    func `a record that the destination fails on keeps no neighbour, however little else there is to send`(
        others: Int
    ) throws {
        let upstream = Upstream { request, _ in request.ids.contains("poison") ? .status(500) : nil }
        let fixture = try RelayFixture(upstream)
        fixture.options.mode = .drain(deadlineSeconds: nil)
        fixture.options.poisonAfterSeconds = 0
        try fixture.seal(RelayFixture.records(0..<49) + [RelayFixture.record("poison")])
        if others > 0 { try fixture.seal(RelayFixture.records(100..<100 + others)) }
        let summary = try fixture.drain()
        #expect(!summary.isWorkLeft)
        #expect(summary.counts.delivered == 49 + others)
        #expect(summary.counts.quarantined == 1)
        #expect(try SpoolStatus.read(fixture.spool).balanced)
    }

    @Test func `a drain loses its patience when too few requests fail to close the road`() throws {
        let upstream = Upstream { _, _ in .status(500) }
        let fixture = try RelayFixture(upstream)
        fixture.options.mode = .drain(deadlineSeconds: nil)
        fixture.options.drainPatienceSeconds = 0.2
        try fixture.seal(RelayFixture.records(0..<10))
        let summary = try fixture.drain()
        #expect(summary.isWorkLeft)
        #expect(summary.seconds < 10)
        #expect(fixture.readyNames.count == 1)
    }

    @Test func `bad records without a place in quarantine hold up no others, and go there later`() throws {
        let upstream = Upstream { request, _ in request.ids.contains { $0.hasSuffix("77") } ? .status(400) : nil }
        let fixture = try RelayFixture(upstream)
        fixture.options.quarantineMaximumBytes = 0
        for start in stride(from: 0, to: 1000, by: 100) { try fixture.seal(RelayFixture.records(start..<start + 100)) }
        let first = try fixture.drain()
        #expect(first.isWorkLeft)
        #expect(upstream.taken.count == 990)
        #expect(try fixture.quarantined().isEmpty)
        #expect(try SpoolStatus.read(fixture.spool).balanced)

        fixture.options.quarantineMaximumBytes = 1 << 30
        let second = try fixture.drain()
        #expect(!second.isWorkLeft)
        #expect(upstream.taken.count == 990)
        #expect(try fixture.quarantined().count == 10)
        #expect(try SpoolStatus.read(fixture.spool).balanced)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "no filesystem can be mounted here"))
    func `a full disk is drained, bad records and all, and nothing is sent twice`() throws {
        let disk = try #require(SmallDisk(megabytes: 8))
        let upstream = Upstream { request, _ in request.ids.contains { $0.hasSuffix("999") } ? .status(400) : nil }
        let fixture = try RelayFixture(upstream, root: disk.path)
        for start in stride(from: 0, to: 6000, by: 2000) {
            try fixture.seal(RelayFixture.records(start..<start + 2000))
        }
        disk.fill()
        let summary = try fixture.drain()
        #expect(!summary.isWorkLeft)
        #expect(fixture.readyNames.isEmpty)
        #expect(upstream.taken.count == 5994)
        #expect(Set(upstream.taken).count == 5994)
        #expect(try fixture.quarantined().count == 6)
        #expect(try SpoolStatus.read(fixture.spool).balanced)
    }

    @Test func `what the ledger does not take is known by progress, and not sent again`() throws {
        let aside = Lock<(ledger: String, place: String)?>(nil)
        let upstream = Upstream { _, number in
            guard number == 0, let paths = aside.withLock({ $0 }) else { return nil }
            // A folder in its place fails every line.
            rename(paths.ledger, paths.place)
            mkdir(paths.ledger, 0o700)
            return nil
        }
        let fixture = try RelayFixture(upstream)
        fixture.options.mode = .drain(deadlineSeconds: nil)
        fixture.options.drainPatienceSeconds = 0.2
        fixture.options.duplicateWindow = 0
        try fixture.seal(RelayFixture.records(0..<200))
        let (ledger, place) = (fixture.spool.ledger, fixture.temporary.path("ledger"))
        aside.withLock { $0 = (ledger, place) }
        let first = try fixture.drain()
        #expect(first.isWorkLeft)
        rmdir(ledger)
        rename(place, ledger)
        let second = try fixture.drain()
        #expect(!second.isWorkLeft)
        #expect(upstream.taken.count == 200)
        #expect(try SpoolStatus.read(fixture.spool).balanced)
    }

    @Test func `what cannot be written down is told once a spell, not at each attempt`() throws {
        let path = Lock("")
        let upstream = Upstream { _, number in
            if number == 0 { rmdir(path.withLock { $0 }) }
            return nil
        }
        let fixture = try RelayFixture(upstream)
        path.withLock { $0 = fixture.spool.progress }
        fixture.options.maximumInFlight = 1
        try fixture.seal(RelayFixture.records(0..<2000))
        mkdir(fixture.spool.gate, 0o700)
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 2000)
        #expect(upstream.requests.count == 40)
        #expect(fixture.log.messages.count { $0 == "Progress kept in memory" } == 1)
        #expect(fixture.log.messages.count { $0 == "Gate not written" } == 1)
    }

    @Test func `a spell ends when nothing has failed for a while`() {
        var spell = FaultSpell()
        let early = spell.works(at: 0)
        let told = [1, 2, 9_000_000_000].map { spell.fails(at: $0) }
        let ended = [9_000_000_001, 18_000_000_000, 19_000_000_000, 19_000_000_001].map { spell.works(at: $0) }
        let again = spell.fails(at: 20_000_000_000)
        #expect(early == nil && told == [true, false, false])
        #expect(ended == [nil, nil, 3, nil] && again)
    }

    @Test func `the failures of a lone record count together over short drains, and then it is given up`() throws {
        let upstream = Upstream { request, _ in request.ids.contains("evt_7") ? .status(500, body: "oops") : nil }
        let fixture = try RelayFixture(upstream)
        fixture.options.backoff = Backoff(minimumSeconds: 0.04, maximumSeconds: 0.04)
        fixture.options.mode = .drain(deadlineSeconds: 0.15)
        fixture.options.poisonAfterFailures = 40
        fixture.options.poisonAfterSeconds = 0.3
        var drains = 0
        while try fixture.quarantined().isEmpty && drains < 60 {
            try fixture.seal(RelayFixture.records(drains * 50..<drains * 50 + 50))
            try fixture.drain()
            drains += 1
        }
        #expect(drains > 3)
        // Its neighbours have left it behind long before.
        #expect(upstream.taken.contains("evt_6") && upstream.taken.contains("evt_8"))
        let entries = try fixture.quarantined()
        #expect(entries.map(\.id) == ["evt_7"])
        #expect(entries.map(\.reason) == ["upstream_failing"])
        #expect(GateFile(in: fixture.spool).current()?.suspects == [])
        #expect(try SpoolStatus.read(fixture.spool).balanced)
    }

    @Test func `a segment whose record cannot be read again goes back, and is read anew by whoever claims it next`()
        throws
    {
        let path = Lock("")
        // The record is refused twice alone; before the second time somebody overwrites its frame.
        let upstream = Upstream { request, _ in
            guard request.ids.contains("evt_7") else { return nil }
            if request.ids.count == 1, let worker = try? FileSystem.names(in: path.withLock { $0 }).first {
                let folder = "\(path.withLock { $0 })/\(worker)"
                for name in (try? FileSystem.names(in: folder)) ?? [] where name.hasSuffix(".lz4") {
                    let file = open("\(folder)/\(name)", O_WRONLY)
                    let zeros = [UInt8](repeating: 0, count: 64)
                    pwrite(file, zeros, 64, 400)
                    close(file)
                }
            }
            return .status(400, body: "no")
        }
        let fixture = try RelayFixture(upstream)
        path.withLock { $0 = fixture.spool.claimed }
        let segment = try fixture.seal(RelayFixture.records(0..<60))
        fixture.options.mode = .run
        fixture.options.lingerSeconds = 0.01
        let control = RelayControl()
        let relay = try fixture.relay(control)
        let begun = SystemClock.system.monotonicNanoseconds()
        relay.onProgress = { _ in
            let isBack = !fixture.readyNames.isEmpty && upstream.taken.count == 59
            if isBack || SystemClock.system.monotonicNanoseconds() - begun > 20_000_000_000 { control.stop() }
        }
        let summary = try relay.run()
        #expect(summary.counts.delivered == 59)
        #expect(fixture.log.messages.contains("Records can't be read again"))
        // Set aside by the running relay itself, not put back when it ended.
        #expect(fixture.log.messages.contains("File in the spool left alone"))
        fixture.options.mode = .drain(deadlineSeconds: 20)
        let second = try fixture.drain()
        #expect(second.metDamage)
        #expect(upstream.taken.count == 59)
        #expect(try fixture.quarantined().map(\.reason) == ["damaged"])
        #expect(fixture.readyNames.isEmpty)
        #expect(try SpoolStatus.read(fixture.spool).balanced)
        _ = segment
    }

    @Test func `a duplicate window that is cut off under a relay ends nothing and begins anew`() throws {
        let path = Lock("")
        let upstream = Upstream { _, number in
            if number == 3 { truncate(path.withLock { $0 }, 0) }
            // Slower than the second in which the relay looks at it.
            return number == 4
                ? .drip(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8), every: .milliseconds(35)) : nil
        }
        let fixture = try RelayFixture(upstream)
        path.withLock { $0 = fixture.spool.duplicates }
        fixture.options.maximumInFlight = 1
        try fixture.seal(RelayFixture.records(0..<500))
        #expect(try fixture.drain().counts.delivered == 500)
        #expect(upstream.requests.count == 10)
        #expect(fixture.log.messages.contains { $0.hasPrefix("The duplicate window is gone") })
        // What was delivered since is known again.
        try fixture.seal(RelayFixture.records(450..<500))
        #expect(try fixture.drain().counts.duplicate == 50)
    }

    @Test func `names that are no segments are told by a drain too`() throws {
        let fixture = try RelayFixture()
        try fixture.seal(RelayFixture.records(0..<10))
        let stray = SegmentName(millisecondsSince1970: 1_500_000_000_000, writer: 1, sequence: 0)
        for name in ["notes.txt", "line\nfeed"] { mkdir("\(fixture.spool.ready)/\(name)", 0o700) }
        mkfifo(fixture.spool.ready(stray), 0o600)
        try fixture.drain()
        let told = fixture.log.messages.filter { $0 == "File in the spool left alone" }
        #expect(told.count == 3)
        #expect(fixture.readyNames.count == 3)
    }

    @Test func `a relay whose lock is removed stops, and what was under way is noted`() throws {
        let claimed = Lock("")
        let upstream = Upstream { _, number in
            guard number == 0 else { return nil }
            let folder = claimed.withLock { $0 }
            for worker in (try? FileSystem.names(in: folder)) ?? [] { unlink("\(folder)/\(worker)/lock") }
            // Slower than the second in which the relay looks at its lock.
            return .drip(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8), every: .milliseconds(35))
        }
        let fixture = try RelayFixture(upstream)
        let folder = fixture.spool.claimed
        claimed.withLock { $0 = folder }
        fixture.options.duplicateWindow = 0
        fixture.options.maximumInFlight = 1
        // One segment that is not read to its end while the first request is under way.
        try fixture.seal(RelayFixture.records(0..<5000))
        let error = #expect(throws: SpoolError.self) { try fixture.drain() }
        #expect(error?.code == .lockLost)
        try fixture.drain()
        // The first request's events were taken, though not by the list of those taken.
        #expect(upstream.taken.count == 4950)
        #expect(Set(upstream.requests.flatMap(\.ids)).count == 5000)
        #expect(upstream.requests.reduce(0) { $0 + $1.ids.count } == 5000)
    }

    // MARK: Gate

    @Test func `a pause that another relay was asked for outlives this one's run`() throws {
        let file = Lock<GateFile?>(nil)
        let until = SystemClock.system.wallMilliseconds() + 3_000_000
        let upstream = Upstream { _, number in
            guard number > 0, let file = file.withLock({ $0 }), let gate = file.current() else { return nil }
            _ = try? file.update(destination: gate.destination) { $0.closedUntilMilliseconds = until }  // checked below
            return number == 1 ? nil : .status(503)
        }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<10))
        try fixture.drain()
        let gate = GateFile(in: fixture.spool)
        file.withLock { $0 = gate }
        try fixture.seal(RelayFixture.records(10..<20))
        try fixture.drain()
        #expect(gate.current()?.closedUntilMilliseconds == until)
        // Nor does a shorter closure of its own cut it.
        let destination = try #require(gate.current()?.destination)
        try gate.update(destination: destination) { $0.closedUntilMilliseconds = 0 }
        fixture.options.mode = .drain(deadlineSeconds: 0.5)
        for second in 0..<10 {
            try fixture.seal(
                (0..<50).map { RelayFixture.record("n-\(second)-\($0)", timestamp: 1_796_000_000 + second) }
            )
        }
        try fixture.drain()
        #expect(gate.current()?.closedUntilMilliseconds == until)
    }

    @Test func `a drain that finds nothing leaves what is known of another destination`() throws {
        let fixture = try RelayFixture()
        try fixture.seal(RelayFixture.records(0..<10))
        try fixture.drain()
        let before = GateFile(in: fixture.spool).current()
        #expect(before?.hasDelivered == true)
        fixture.options.target = try GraphJSONTarget(url: "http://127.0.0.1:1")
        try fixture.drain()
        #expect(GateFile(in: fixture.spool).current() == before)
    }

    @Test func `a second's pause asked of a relay whose clock is a day ahead is a second for the others`() throws {
        let upstream = Upstream { _, number in number == 1 ? .status(429, headers: ["Retry-After: 1"]) : nil }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<10))
        try fixture.drain()
        let ahead = SystemClock(
            wallMilliseconds: { SystemClock.system.wallMilliseconds() + 86_000_000 },
            monotonicNanoseconds: SystemClock.system.monotonicNanoseconds
        )
        fixture.options.mode = .drain(deadlineSeconds: 0.2)
        try fixture.seal(RelayFixture.records(10..<20))
        #expect(try fixture.drain(clock: ahead).isWorkLeft)
        fixture.options.mode = .drain(deadlineSeconds: 10)
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 10)
        #expect(summary.seconds < 5)
        #expect(GateFile(in: fixture.spool).current()?.closedUntilMilliseconds == 0)
    }

    @Test func `a wall clock that steps back does not draw out a pause`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<10))
        try fixture.drain()
        let gate = GateFile(in: fixture.spool)
        let destination = try #require(gate.current()?.destination)
        let start = SystemClock.system.monotonicNanoseconds()
        try gate.update(destination: destination) {
            $0.closedUntilMilliseconds = SystemClock.system.wallMilliseconds() + 1500
            $0.reason = "asked for"
        }
        // Ten days back, half a second after the relay has read the gate.
        let clock = SystemClock(
            wallMilliseconds: {
                let isStepped = SystemClock.system.monotonicNanoseconds() - start > 500_000_000
                return SystemClock.system.wallMilliseconds() - (isStepped ? 864_000_000 : 0)
            },
            monotonicNanoseconds: SystemClock.system.monotonicNanoseconds
        )
        try fixture.seal(RelayFixture.records(10..<20))
        let summary = try fixture.drain(clock: clock)
        #expect(upstream.taken.count == 20)
        #expect(summary.seconds < 10)
    }
}

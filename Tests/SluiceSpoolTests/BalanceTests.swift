// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceJSON
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Synchronization
import Testing

struct BalanceTests {
    let fixture: SpoolFixture

    init() throws { fixture = try SpoolFixture() }

    private var spool: SpoolFolder { fixture.spool }

    @Test func `an empty spool is balanced`() throws {
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.notes == [])
        #expect(
            status.conservationLine == "accepted 0 = delivered 0 + duplicate 0 + expired 0 + discarded 0 + erased 0 "
                + "+ quarantined 0 + pending 0 (balanced)"
        )
        #expect(status.text.hasSuffix(status.conservationLine + "\n"))
        #expect(status.oldestRecordAgeSeconds == nil)
    }

    @Test func `records count wherever their segment is`() throws {
        try fixture.addSegment(records: 5)
        try fixture.addSegment(records: 6)
        try fixture.addSegment(records: 7, isSealed: false, footer: false)
        let open = try SegmentFile(
            creating: fixture.name(3),
            in: spool.incoming,
            as: fixture.name(3).openFileName,
            createdAt: 1
        )
        try open.show()
        try (SpoolFixture.record(0) + "\n").withBytes { _ = try open.append($0, records: 1, receivedAt: 1...1) }
        let worker = try Worker.start(in: spool)
        let claim = try #require(try worker.claimNext())
        try Progress(of: claim.segment, in: spool).append([
            ProgressEntry(frame: 1, first: 0, count: 3, outcome: .delivered),
            ProgressEntry(frame: 1, first: 3, count: 1, outcome: .expired),
        ])
        fixture.clock.advance(milliseconds: 61_000)
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.accepted == 19)
        #expect(status.counts.delivered == 3)
        #expect(status.counts.expired == 1)
        #expect(status.pending == 15)
        #expect(
            status.segments
                == {
                    var it = SpoolStatus.Places()
                    (it.open, it.ready, it.claimed) = (1, 2, 1)
                    return it
                }()
        )
        #expect(status.oldestRecordAgeSeconds == 61)
        #expect(status.bytes.ready > 0)
    }

    @Test func `what quarantine holds of an unfinished segment counts by progress`() throws {
        let segment = try fixture.addSegment(records: 10)
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false, clock: fixture.clock.clock)
        for index in 0..<3 {
            SpoolFixture.record(index).withBytes { _ = writer.append(fixture.entry(segment, index), record: $0) }
        }
        try writer.sync()
        var status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.quarantined == 0)
        #expect(status.pending == 10)
        try Progress(of: segment, in: spool).append([
            ProgressEntry(frame: 100, first: 0, count: 2, outcome: .quarantined)
        ])
        status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.quarantined == 2)
        #expect(status.pending == 8)
    }

    @Test func `a finished segment whose file is still there counts once`() throws {
        let segment = try fixture.addSegment(records: 10)
        var counts = OutcomeCounts()
        counts.delivered = 10
        try fixture.ledger.append([.finished(segment, counts)])
        try Progress(of: segment, in: spool).append([ProgressEntry(frame: 1, first: 0, count: 10, outcome: .delivered)])
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.counts.delivered == 10)
        #expect(status.pending == 0)
        #expect(status.segments.ready == 0)
    }

    @Test func `a count that only walked the frames gives way to what came of the records`() throws {
        let segment = try fixture.addSegment(records: 10, isSealed: false)
        try fixture.ledger.append([.sealed(segment, records: 8, isExact: false)])
        #expect(try fixture.status().pending == 8)
        try Progress(of: segment, in: spool).append([ProgressEntry(frame: 1, first: 0, count: 9, outcome: .delivered)])
        #expect(try fixture.status().problems == [])
        #expect(try fixture.status().accepted == 9)
        var counts = OutcomeCounts()
        counts.delivered = 10
        try fixture.ledger.append([.finished(segment, counts)])
        try FileSystem.remove(spool.ready(segment))
        #expect(try fixture.status().problems == [])
        #expect(try fixture.status().accepted == 10)
    }

    // MARK: What is wrong is named

    @Test func `a sealed segment that is gone is named`() throws {
        let segment = try fixture.addSegment(records: 4)
        try FileSystem.remove(spool.ready(segment))
        let status = try fixture.status()
        #expect(!status.balanced)
        #expect(status.problems.count == 1)
        #expect(status.problems.first?.contains(segment.text) == true)
        #expect(status.conservationLine.hasSuffix("(NOT balanced)"))
    }

    @Test func `a gap in a writer's sequence is named`() throws {
        try fixture.addSegment()
        let lost = try fixture.addSegment(isSealed: false)
        try fixture.addSegment(isSealed: false)
        try FileSystem.remove(spool.ready(lost))
        let status = try fixture.status()
        #expect(status.problems == ["writer 000000000000abcd: segments number 1 are missing"])
    }

    @Test func `a segment that does not add up is named`() throws {
        let segment = try fixture.addSegment(records: 10)
        var counts = OutcomeCounts()
        counts.delivered = 9
        try fixture.ledger.append([.finished(segment, counts)])
        try FileSystem.remove(spool.ready(segment))
        let status = try fixture.status()
        #expect(
            status.problems == [
                "segment \(segment) was sealed with 10 records and finished with 9",
                "accepted 10 differs from the sum 9",
            ]
        )
    }

    @Test func `records that went from quarantine by themselves are missed`() throws {
        try fixture.addFinishedSegment(bad: 3)
        let name = try #require(try fixture.names(.quarantine).first)
        try FileSystem.remove("\(spool.quarantine)/\(name)")
        let status = try fixture.status()
        #expect(status.problems.first == "quarantine holds 0 records of finished segments, the ledger says 3")
        #expect(!status.balanced)
    }

    @Test func `foreign files and unreadable lines are told and unbalance nothing`() throws {
        let segment = try fixture.addSegment(records: 4)
        try fixture.folder.write("x", to: "spool/ready/readme")
        #expect(symlink("/etc/passwd", "\(spool.ready)/\(fixture.name(50).sealedFileName)") == 0)
        #expect(link(spool.ready(segment), fixture.folder.path("backup")) == 0)
        let ledger = try File(opening: spool.ledger, O_WRONLY | O_APPEND)
        try ledger.write("something\n")
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.pending == 4)
        #expect(status.ignoredFiles == 3)
        #expect(status.notes.count == 4)
    }

    // MARK: Rendering

    @Test func `the JSON form has stable keys`() throws {
        try fixture.addFinishedSegment(bad: 2)
        try GateFile(in: spool).update(destination: 1) { gate in
            gate.closedUntilMilliseconds = 1_796_000_005_000
            gate.reason = "429"
        }
        let json = try fixture.status().json
        var buffer = ByteBuffer()
        buffer.append(json)
        let document = try JSONParser(maximumBytes: 1 << 20).parse(buffer.bytes)
        let keys = document.members(of: 0).map { document.string(document[$0.key]) }
        #expect(
            keys == [
                "accepted", "delivered", "duplicate", "expired", "discarded", "erased", "quarantined", "pending",
                "balanced",
                "problems", "notes", "damaged", "torn_tails", "ignored_files", "segments", "bytes",
                "oldest_record_age_s",
                "rates", "quarantine_reasons", "gate",
            ]
        )
        #expect(json.contains(#""quarantine_reasons":{"upstream_rejected":2}"#))
        #expect(json.contains(#""rates":{"window_s":300,"accepted_per_s":0.0,"delivered_per_s":0.0}"#))
        #expect(json.contains(#""gate":{"state":"closed","closed_until_ms":1796000005000,"reason":"429""#))
        #expect(try fixture.status().text.contains("gate        closed for 5 s: 429\n"))
    }

    // MARK: At every moment

    private final class Run: Sendable {
        let isDone = Atomic(false)
        let accepted = Atomic(0)
    }

    @Test func `a relay may be killed between any two changes`() throws {
        for stop in 0..<200 {
            let fixture = try SpoolFixture()
            try fixture.addSegment(records: 9, frames: 2)
            try fixture.addSegment(records: 8, isSealed: false, footer: false)
            var steps = 0
            var relay = try SmallRelay(spool: fixture.spool, clock: fixture.clock.clock)
            relay.between = {
                steps += 1
                let status = try fixture.status()
                #expect(status.problems == [], "step \(steps) of \(stop)")
                #expect(status.accepted == 17)
                if steps == stop { throw SmallRelay.Stopped() }
            }
            do {
                while try relay.workOff() {}
                #expect(stop == 0 || stop > steps)
            } catch is SmallRelay.Stopped {}
            // The next one finds the first one's folder without a living owner.
            let next = try SmallRelay(spool: fixture.spool, clock: fixture.clock.clock)
            try FileSystem.remove("\(fixture.spool.claimed)/\(relay.worker.name)/lock")
            try next.worker.adoptOrphans()
            fixture.clock.advance(milliseconds: 5)
            while try next.workOff() {}
            try Progress.removeOrphans(in: fixture.spool, ledger: fixture.ledger)
            let status = try fixture.status()
            #expect(status.problems == [], "stopped at \(stop)")
            #expect(status.accepted == 17)
            #expect(status.pending == 0)
            #expect(status.quarantined == 2 + 1)
            #expect(try fixture.names(.progress).isEmpty)
            if stop > steps { return }
        }
        Issue.record("the relay never came to its end")
    }

    @Test func `the books are right while writers, relays and replays run`() async throws {
        let run = Run()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [spool] in
                defer { run.isDone.store(true, ordering: .releasing) }
                let ledger = try Ledger(in: spool)
                for number in 0..<120 {
                    let name = SegmentName(
                        millisecondsSince1970: 1_796_000_000_000 + number,
                        writer: 1,
                        sequence: UInt64(number)
                    )
                    let file = try SegmentFile(
                        creating: name,
                        in: spool.incoming,
                        as: name.openFileName,
                        createdAt: 1
                    )
                    try file.show()
                    for index in 0..<20 {
                        try (SpoolFixture.record(index) + "\n").withBytes {
                            _ = try file.append($0, records: 1, receivedAt: 1...1)
                        }
                        run.accepted.add(1, ordering: .relaxed)
                    }
                    if number % 3 != 0 { try ledger.append([.sealed(name, records: 20)], isSynced: false) }
                    try FileSystem.move(spool.incoming(name), to: spool.ready(name))
                }
            }
            for _ in 0..<2 {
                group.addTask { [spool] in
                    let relay = try SmallRelay(spool: spool)
                    var isLast = false
                    while true {
                        if try relay.workOff() { continue }
                        if isLast { break }
                        isLast = run.isDone.load(ordering: .acquiring)
                    }
                    try relay.worker.close()
                }
            }
            group.addTask { [spool] in
                let ledger = try Ledger(in: spool)
                let editor = QuarantineEditor(in: spool, ledger: ledger)
                while !run.isDone.load(ordering: .acquiring) {
                    _ = try editor.run(.discard) { item, _ in item.origin.frame % 2 == 0 ? .take : .leave }
                }
            }
            group.addTask { [spool] in
                var last = 0
                var count = 0
                while !run.isDone.load(ordering: .acquiring) || count == 0 {
                    let status = try SpoolStatus.read(spool, attempts: 50)
                    #expect(status.problems == [])
                    #expect(status.accepted == status.accountedFor)
                    #expect(status.accepted >= last)
                    last = status.accepted
                    count += 1
                }
            }
            try await group.waitForAll()
        }
        let status = try SpoolStatus.read(spool)
        #expect(status.problems == [])
        #expect(status.accepted == run.accepted.load(ordering: .relaxed))
        #expect(status.pending == 0)
    }

    @Test func `links, folders and pipes in quarantine are told and unbalance nothing`() throws {
        try fixture.addFinishedSegment(records: 10, bad: 2)
        let outside = try fixture.folder.write("not ours", to: "outside")
        #expect(mkfifo(spool.quarantine(fixture.name(100)), 0o600) == 0)
        #expect(symlink(outside, spool.quarantine(fixture.name(101))) == 0)
        #expect(mkdir(spool.quarantine(fixture.name(102)), 0o700) == 0)
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.quarantined == 2)
        #expect(status.notes.count == 3)
        #expect(try fixture.quarantined().count == 2)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Synchronization
import Testing

struct LedgerTests {
    let fixture: SpoolFixture

    init() throws { fixture = try SpoolFixture() }

    private var spool: SpoolFolder { fixture.spool }
    private var ledger: Ledger { fixture.ledger }

    private func book() throws -> LedgerBook { try Ledger.book(of: spool) }

    private func counts(_ delivered: Int, quarantined: Int = 0) -> OutcomeCounts {
        var counts = OutcomeCounts()
        counts.delivered = delivered
        counts.quarantined = quarantined
        return counts
    }

    private func bytes() throws -> [UInt8] { try FileSystem.contents(of: spool.ledger, limit: 1 << 26) }

    private func overwrite(_ bytes: some Collection<UInt8>) throws {
        let file = try File(opening: spool.ledger, O_WRONLY | O_TRUNC)
        try Array(bytes).withUnsafeBytes { try file.write($0) }
    }

    @Test func `every line comes back as it was`() throws {
        var all = OutcomeCounts()
        (all.delivered, all.duplicate, all.expired, all.discarded) = (1, 2, 3, 4)
        (all.erased, all.quarantined, all.damaged) = (5, 6, 7)
        try ledger.append([
            .sealed(fixture.name(0), records: 28),
            .sealed(fixture.name(1), records: 5, isExact: false),
            .finished(fixture.name(0), all, tornTails: 1),
            .moved(
                QuarantineMove(
                    kind: .replay,
                    source: fixture.name(7, writer: 1),
                    taken: 2,
                    segment: fixture.name(0, writer: 2),
                    rest: fixture.name(8, writer: 1),
                    restRecords: 9,
                    userNumber: 1000
                )
            ),
        ])
        let book = try book()
        #expect(book.totals.accepted == 33)
        #expect(book.totals.counts == all)
        #expect(book.totals.tornTails == 1)
        #expect(book.finished == [fixture.name(0)])
        #expect(book.open[fixture.name(1)] == .init(records: 5, isExact: false, isReplay: false))
        #expect(book.open[fixture.name(0, writer: 2)] == .init(records: 2, isExact: true, isReplay: true))
        #expect(book.moves.first?.rest == fixture.name(8, writer: 1))
        #expect(book.moves.first?.restRecords == 9)
        #expect(book.moves.first?.userNumber == 1000)
        #expect(book.expectedInQuarantine == 6 + 7 - 2)
        #expect(book.newestAt == 1_796_000_000)
        #expect(book.invalidLines == 0)
    }

    @Test func `a segment counts once however often it is noted`() throws {
        for _ in 0..<3 {
            try ledger.append([.sealed(fixture.name(0), records: 10)])
            try ledger.append([.finished(fixture.name(0), counts(10))])
        }
        let book = try book()
        #expect(book.totals.accepted == 10)
        #expect(book.totals.counts.delivered == 10)
        #expect(book.totals.segments == 1)
        #expect(book.open.isEmpty)
    }

    @Test func `what another process appended is known at once`() throws {
        let other = try Ledger(in: spool, clock: fixture.clock.clock)
        let name = fixture.name(3)
        #expect(try ledger.standing(of: name) == .unknown)
        try other.append([.sealed(name, records: 4)])
        #expect(try ledger.standing(of: name) == .sealed(records: 4, isExact: true, isReplay: false))
        try other.append([.finished(name, counts(4))])
        #expect(try ledger.standing(of: name) == .finished)
    }

    @Test func `every cut leaves the whole lines before it`() throws {
        for index in 0..<4 { try ledger.append([.sealed(fixture.name(UInt64(index)), records: 1)]) }
        let all = try bytes()
        var ends: [Int] = []
        for (index, byte) in all.enumerated() where byte == UInt8(ascii: "\n") { ends.append(index + 1) }
        for length in 0...all.count {
            try overwrite(all[..<length])
            let book = try book()
            #expect(book.open.count == ends.count { $0 <= length })
            #expect(book.invalidLines == 0)
        }
    }

    @Test func `a line behind a torn one is written again on a line of its own`() throws {
        try ledger.append([.sealed(fixture.name(0), records: 1)])
        let all = try bytes()
        for length in 1..<all.count {
            try overwrite(all[..<length])
            try ledger.append([.sealed(fixture.name(1), records: 2)])
            let book = try book()
            #expect(book.open[fixture.name(1)]?.records == 2, "cut at \(length)")
            #expect(book.open[fixture.name(0)] == nil)
            #expect(book.invalidLines == 1)
            #expect(book.firstInvalidOffset == 0)
        }
    }

    @Test func `a flipped bit costs the lines it touches and nothing else`() throws {
        for index in 0..<3 { try ledger.append([.sealed(fixture.name(UInt64(index)), records: 1)]) }
        let all = try bytes()
        let line = all.count / 3
        for bit in 0..<(all.count * 8) {
            var damaged = all
            damaged[bit / 8] ^= 1 << (bit % 8)
            try overwrite(damaged)
            let book = try book()
            // A line feed that is gone joins two lines.
            let isLineFeed = (bit / 8) % line == line - 1
            let isLast = bit / 8 == all.count - 1
            #expect(book.open.count == (isLineFeed && !isLast ? 1 : 2), "bit \(bit)")
            #expect(isLast || book.invalidLines > 0, "bit \(bit)")
        }
    }

    @Test func `lines and fields of a later version are passed over`() throws {
        func line(_ text: String) -> String {
            let sum = text.withBytes { Checksum.xxh3($0) }
            return "\(text) \(SegmentName.writerText(sum))\n"
        }
        let name = fixture.name(0).text
        let text =
            line("1796000001 counted \(name) what=ever")
            + line("1796000001 sealed \(name) colour=red records=3 exact=1 replay=0 size=huge")
        try overwrite(text.utf8)
        let book = try book()
        #expect(book.open[fixture.name(0)]?.records == 3)
        #expect(book.invalidLines == 0)
    }

    /// Lines with their checksums, as nobody but a program of ours should write them.
    private func signed(_ lines: [String]) -> [UInt8] {
        lines.flatMap { line -> [UInt8] in
            let sum = line.withBytes { Checksum.xxh3($0) }
            return Array("\(line) \(SegmentName.writerText(sum))\n".utf8)
        }
    }

    @Test func `numbers that cannot be added up make a line invalid`() throws {
        let huge = "999999999999999999"
        try overwrite(
            signed([
                "1796000000 totals accepted=\(huge)", "1796000000 sealed \(fixture.name(0).text) records=\(huge)",
                "1796000000 finished \(fixture.name(1).text) damaged=\(huge)",
                "1796000000 discard \(fixture.name(2).text) records=\(huge)",
                "1796000000 sealed \(fixture.name(3).text) records=4",
            ])
        )
        let book = try book()
        #expect(book.totals.accepted == 4 && book.totals.takenFromQuarantine == 0 && book.strays.isEmpty)
        #expect(book.invalidLines == 4)
    }

    @Test func `sums and writers' marks count at the ledger's beginning only`() throws {
        let head = [
            "1796000000 totals accepted=7 delivered=7", "1796000000 writer id=0000000000000009 next=4 missing=1-2",
        ]
        try overwrite(signed(head + head + ["1796000000 sealed \(fixture.name(3).text) records=4"] + head))
        let book = try book()
        #expect(book.totals.accepted == 11 && book.totals.counts.delivered == 7)
        #expect(book.writers[9]?.next == 4)
        #expect(book.invalidLines == 3)
    }

    @Test func `a mark whose gaps lie behind its end is of no version`() throws {
        try overwrite(signed(["1796000000 writer id=0000000000000009 next=4 missing=3-5"]))
        #expect(try book().writers.isEmpty)
    }

    @Test func `gaps in a writer's sequence are known`() throws {
        let events = [0, 1, 4, 3, 9].map { LedgerEvent.sealed(fixture.name($0), records: 1) }
        try ledger.append(events)
        let gaps = try book().gaps(onDisk: [fixture.name(6)])
        #expect(gaps.count == 1)
        #expect(gaps.first?.missing.ranges.map { $0 } == [2..<3, 5..<6, 7..<9])
        #expect(try book().gaps(onDisk: [2, 5, 6, 7, 8].map { fixture.name($0) }).isEmpty)
    }

    @Test func `folding keeps what is open and the sums of the rest`() throws {
        let small = try Ledger(in: spool, clock: fixture.clock.clock, foldingBytes: 4096)
        // Open, finished and gone, finished and still there, a mismatch, and a gap.
        for index in 0..<50 {
            try small.append([.sealed(fixture.name(UInt64(index)), records: 10)])
            if index < 40 { try small.append([.finished(fixture.name(UInt64(index)), counts(8, quarantined: 2))]) }
        }
        try small.append([.sealed(fixture.name(52), records: 1)])
        try fixture.folder.write("", to: "spool/ready/\(fixture.name(7).sealedFileName)")
        try fixture.folder.write("half of it", to: "spool/.new-ledger-0123456789abcdef")
        try small.append([
            .sealed(fixture.name(0, writer: 5), records: 3), .finished(fixture.name(0, writer: 5), counts(2)),
        ])
        let before = try book()
        let status = try fixture.status()
        fixture.clock.advance(milliseconds: 600_000)
        #expect(try small.foldIfLarge())
        #expect(try bytes().count < 4096 * 2)
        let after = try book()
        #expect(after.totals.accepted == before.totals.accepted)
        #expect(after.totals.counts == before.totals.counts)
        #expect(after.totals.segments == before.totals.segments)
        #expect(after.open == before.open)
        #expect(after.finished == [fixture.name(7), fixture.name(0, writer: 5)])
        #expect(after.mismatches.keys.map { $0 } == [fixture.name(0, writer: 5)])
        #expect(after.gaps(onDisk: []).first?.missing.ranges.map { $0 } == [50..<52])
        #expect(after.expectedInQuarantine == before.expectedInQuarantine)
        #expect(try fixture.status().problems == status.problems)
        // Readers and writers that had the old file open go on with the new one.
        #expect(try ledger.standing(of: fixture.name(45)) == .sealed(records: 10, isExact: true, isReplay: false))
        try ledger.append([.finished(fixture.name(45), counts(10))])
        #expect(try small.standing(of: fixture.name(45)) == .finished)
        #expect(try book().totals.counts.delivered == before.totals.counts.delivered + 10)
        #expect(try FileSystem.names(in: spool.root).allSatisfy { !$0.hasPrefix(".new-") })
    }

    @Test func `a ledger of open segments only is not folded again and again`() throws {
        let small = try Ledger(in: spool, clock: fixture.clock.clock, foldingBytes: 1000)
        for index in 0..<50 { try small.append([.sealed(fixture.name(UInt64(index)), records: 10)]) }
        #expect(try small.foldIfLarge())
        #expect(try !small.foldIfLarge())
        #expect(try book().open.count == 50)
    }

    @Test func `what people did is one line each, and the newest thousand outlast the folding`() throws {
        let small = try Ledger(in: spool, clock: fixture.clock.clock, foldingBytes: 4096)
        for number in 0..<1100 {
            let audit = LedgerAudit(
                action: "discard",
                records: number,
                userNumber: 7,
                userName: "dörte von x",
                selection: "reason=upstream_rejected event=a%20b"
            )
            try small.append([.audit(audit)], isSynced: false)
        }
        let end = " by=7 user=d%c3%b6rte%20von%20x selection=reason=upstream_rejected%20event=a%2520b "
        func audits() throws -> [String] {
            String(decoding: try bytes(), as: UTF8.self).split(separator: "\n").map(String.init)
                .filter { $0.contains(" audit discard records=") && $0.contains(end) }
        }
        #expect(try audits().count == 1100)
        #expect(try small.foldIfLarge())
        #expect(try audits().count == 1000)
        #expect(try audits().first?.contains("records=100 ") == true)
        #expect(try book().invalidLines == 0)
        #expect(try book().totals.accepted == 0)
    }

    @Test func `writers without anything open are forgotten after two days, and no gap is made of it`() throws {
        let small = try Ledger(in: spool, clock: fixture.clock.clock, foldingBytes: 100)
        for index in 0..<3 {
            try small.append([.sealed(fixture.name(UInt64(index)), records: 1)])
            try small.append([.finished(fixture.name(UInt64(index)), counts(1))])
        }
        fixture.clock.advance(milliseconds: 3 * 86_400_000)
        #expect(try small.foldIfLarge())
        #expect(try book().writers.isEmpty)
        #expect(try book().totals.forgottenWriters == 1)
        try small.append([.sealed(fixture.name(3), records: 1), .sealed(fixture.name(5), records: 1)])
        #expect(try book().gaps(onDisk: []).first?.missing.ranges.map { $0 } == [4..<5])
    }

    @Test func `no line is lost while others fold`() async throws {
        let lines = 400
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 1...4 {
                group.addTask { [spool] in
                    let ledger = try Ledger(in: spool)
                    for index in 0..<lines {
                        let name = SegmentName(
                            millisecondsSince1970: index,
                            writer: UInt64(writer),
                            sequence: UInt64(index)
                        )
                        var counts = OutcomeCounts()
                        counts.delivered = 1
                        try ledger.append([.sealed(name, records: 1), .finished(name, counts)], isSynced: false)
                    }
                }
            }
            group.addTask { [spool] in
                // Far in the future, so that finished segments are old enough to be folded.
                let clock = ManualClock(wallMilliseconds: 4_000_000_000_000)
                let ledger = try Ledger(in: spool, clock: clock.clock, foldingBytes: 2000)
                for _ in 0..<200 { try ledger.foldIfLarge() }
            }
            try await group.waitForAll()
        }
        let book = try book()
        #expect(book.totals.accepted == 4 * lines)
        #expect(book.totals.counts.delivered == 4 * lines)
        #expect(book.open.isEmpty)
        #expect(book.gaps(onDisk: []).isEmpty)
        #expect(book.invalidLines == 0)
    }

    @Test(.enabled(if: canMount, "needs root, to mount"))
    func `a full disk still takes lines, and a worker can start`() throws {
        let folder = TemporaryFolder()
        try #require(run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder.path]) == 0)
        defer { _ = run(["umount", folder.path]) }
        let spool = try SpoolFolder.open(folder.path, role: .relay)
        let ledger = try Ledger(in: spool)
        try ledger.append([.sealed(fixture.name(0), records: 1)])
        let filler = try File(opening: folder.path("filler"), O_WRONLY | O_CREAT)
        #expect(throws: SystemError.self) {
            while true { try [UInt8](repeating: 1, count: 4096).withUnsafeBytes { try filler.write($0) } }
        }
        for index in 1..<2000 { try ledger.append([.sealed(fixture.name(UInt64(index)), records: 1)]) }
        #expect(try Ledger.book(of: spool).open.count == 2000)
        _ = try SpoolFolder.open(folder.path, role: .relay)
        let worker = try Worker.start(in: spool)
        try worker.close()
    }
}

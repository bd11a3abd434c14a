// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct ReplayTests {
    let fixture: SpoolFixture

    init() throws { fixture = try SpoolFixture() }

    private var spool: SpoolFolder { fixture.spool }

    private func editor(
        atStep: @escaping (QuarantineEditor.Step) throws(SpoolError) -> Void = { (_) throws(SpoolError) in }
    ) -> QuarantineEditor {
        QuarantineEditor(in: spool, ledger: fixture.ledger, clock: fixture.clock.clock, atStep: atStep)
    }

    /// Runs an editor until no file is busy: the children of the tests beside this one hold copies of its locks until
    /// they execute their program.
    private func run(
        _ kind: QuarantineMove.Kind,
        by editor: QuarantineEditor? = nil,
        isDryRun: Bool = false,
        decide: (QuarantineItem, inout ByteBuffer) throws(SpoolError) -> QuarantineEditor.Decision
    ) throws(SpoolError) -> QuarantineEditor.Report {
        let editor = editor ?? self.editor()
        for _ in 0..<1_000_000 {
            let report = try editor.run(kind, isDryRun: isDryRun, decide: decide)
            if report.busyFiles.isEmpty { return report }
            sched_yield()
        }
        Issue.record("a file stays busy")
        return QuarantineEditor.Report()
    }

    /// Which of the records of `segment` are where, by the number in their `event_id`.
    private func places() throws -> (ready: [Int], quarantine: [Int]) {
        func number(_ line: String) -> Int {
            let rest = line.split(separator: "\"e-").last ?? ""
            return Int(rest.prefix { $0 != "\"" }) ?? -1
        }
        return (
            try fixture.readyRecords().map(number).sorted(),
            try fixture.quarantined().map { number($0.record) }.sorted()
        )
    }

    private func even(_ item: QuarantineItem) -> QuarantineEditor.Decision {
        item.origin.index % 2 == 0 ? .take : .leave
    }

    @Test func `records come back as a segment with their origin and one replay more`() throws {
        let segment = try fixture.addFinishedSegment(bad: 4)
        let report = try run(.replay) { item, _ in even(item) }
        #expect(report.taken == 2)
        #expect(report.left == 2)
        #expect(report.segments.count == 1)
        #expect(try places() == ([0, 2], [1, 3]))
        let lines = try fixture.readyRecords()
        #expect(
            lines.first == #"{"origin":{"segment":"\#(segment.text)","frame":100,"index":0},"replays":1,"#
                + SpoolFixture.record(0).dropFirst()
        )
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.pending == 2)
        #expect(status.quarantined == 2)
        #expect(status.accepted == 10)
        #expect(try fixture.names(.quarantine).count == 2, "the rest and the lock")
    }

    @Test func `a record that was replayed before has one origin and the next number`() throws {
        let segment = try fixture.addFinishedSegment(bad: 1)
        for round in 1...3 {
            let report = try run(.replay) { _, _ in .take }
            #expect(report.taken == 1)
            let replay = try #require(report.segments.first)
            // The relay finds it bad again.
            let line = try #require(try fixture.readyRecords().first)
            let writer = try QuarantineWriter(for: replay, in: spool, readsExisting: false, clock: fixture.clock.clock)
            line.withBytes { _ = writer.append(fixture.entry(segment, 0, replays: round), record: $0) }
            try writer.finish()
            var counts = OutcomeCounts()
            counts.quarantined = 1
            try fixture.ledger.append([.finished(replay, counts)])
            try FileSystem.remove(spool.ready(replay))
            #expect(try fixture.quarantined().map(\.replays) == [round])
            let status = try fixture.status()
            #expect(status.problems == [])
            #expect(status.quarantined == 1)
        }
        _ = try run(.replay) { _, _ in .take }
        let line = try #require(try fixture.readyRecords().first)
        #expect(line.components(of: "\"origin\"") == 1)
        #expect(
            line.hasPrefix(#"{"origin":{"segment":"\#(segment.text)","frame":100,"index":0},"replays":4,"received_at""#)
        )
    }

    @Test func `a record may go in another form`() throws {
        let segment = try fixture.addFinishedSegment(bad: 1)
        _ = try run(.replay) { _, form in
            form.append(#"{"received_at":5,"new":true}"#)
            return .take
        }
        #expect(
            try fixture.readyRecords() == [
                #"{"origin":{"segment":"\#(segment.text)","frame":100,"index":0},"replays":1,"received_at":5,"new":true}"#
            ]
        )
    }

    @Test func `what would fail again stays, and nothing is written for it`() throws {
        try fixture.addFinishedSegment(bad: 3)
        let names = try fixture.names(.quarantine)
        let report = try run(.replay) { _, _ in .failsAgain }
        #expect(report.failsAgain == 3)
        #expect(report.files == 0)
        #expect(try fixture.names(.quarantine) == (names + ["lock"]).sorted())
        #expect(try fixture.ledger.book().moves.isEmpty)
    }

    @Test func `a dry run changes nothing`() throws {
        try fixture.addFinishedSegment(bad: 3)
        let ledger = try FileSystem.contents(of: spool.ledger, limit: 1 << 20)
        let report = try run(.replay, isDryRun: true) { _, _ in .take }
        #expect(report.taken == 3)
        #expect(try places() == ([], [0, 1, 2]))
        #expect(try FileSystem.contents(of: spool.ledger, limit: 1 << 20) == ledger)
    }

    @Test func `discarded and erased records are counted`() throws {
        try fixture.addFinishedSegment(bad: 4)
        _ = try run(.discard) { item, _ in item.origin.index == 0 ? .take : .leave }
        _ = try run(.erase) { item, _ in item.origin.index == 1 ? .take : .leave }
        #expect(try places() == ([], [2, 3]))
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.counts.discarded == 1)
        #expect(status.counts.erased == 1)
        #expect(status.quarantined == 2)
        _ = try run(.discard) { _, _ in .take }
        #expect(try fixture.names(.quarantine) == ["lock"])
        #expect(try fixture.status().problems == [])
    }

    @Test func `damaged ranges cannot be replayed, and their bytes go with the last entry`() throws {
        let segment = try fixture.addSegment(records: 10)
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false, clock: fixture.clock.clock)
        var damage = SegmentDamage()
        damage.addDamage(offset: 40, length: 20, declaredRecords: 4)
        try damage.saveBytes(from: spool.ready(segment), of: segment, in: spool)
        let assessment = damage.assess(
            segment: segment,
            sealedRecords: 10,
            readableRecords: 6,
            fileBytes: 500,
            at: 1
        )
        for entry in assessment.entries { #expect(writer.append(entry, record: nil)) }
        try writer.finish()
        var counts = OutcomeCounts()
        (counts.delivered, counts.damaged) = (6, 4)
        try fixture.ledger.append([.finished(segment, counts)])
        try FileSystem.remove(spool.ready(segment))
        #expect(try fixture.status().problems == [])
        #expect(try fixture.status().quarantined == 4)
        #expect(try fixture.status().damaged == 4)
        #expect(try run(.replay) { _, _ in .take }.left == 4)
        #expect(try FileStatus(of: spool.damaged(segment)).isRegularFile)
        #expect(try run(.discard) { _, _ in .take }.taken == 4)
        #expect(try fixture.names(.quarantine) == ["lock"])
        #expect(try fixture.status().problems == [])
        #expect(try fixture.status().counts.discarded == 4)
    }

    /// Case C79.
    @Test func `two at once: the second is told so`() throws {
        try fixture.addFinishedSegment(bad: 1)
        let editor = editor()
        _ = try editor.run(.replay) { (_, _) throws(SpoolError) in
            let error = #expect(throws: SpoolError.self) { try self.editor().run(.discard) { _, _ in .take } }
            #expect(error?.code == .locked)
            return .take
        }
        #expect(try places() == ([0], []))
    }

    @Test func `files of a living or unfinished claim are left alone`() throws {
        let segment = try fixture.addSegment()
        var writer: QuarantineWriter? = try QuarantineWriter(
            for: segment,
            in: spool,
            readsExisting: false,
            clock: fixture.clock.clock
        )
        SpoolFixture.record(0).withBytes { _ = writer?.append(fixture.entry(segment, 0), record: $0) }
        try writer?.sync()
        #expect(try editor().run(.replay) { _, _ in .take }.busyFiles.count == 1)
        writer = nil
        #expect(try editor().run(.replay) { _, _ in .take }.busyFiles.count == 1, "its segment is not finished")
        #expect(try places().quarantine == [0])
    }

    @Test func `a second entry of a record goes with the first`() throws {
        let segment = try fixture.addFinishedSegment(bad: 2)
        // As after a crash between two relays.
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false, clock: fixture.clock.clock)
        fixture.clock.advance(milliseconds: 1)
        SpoolFixture.record(1).withBytes { _ = writer.append(fixture.entry(segment, 1), record: $0) }
        try writer.finish()
        #expect(try fixture.status().problems == [])
        #expect(try fixture.status().quarantined == 2)
        let report = try run(.replay) { _, _ in .take }
        #expect(report.taken == 2)
        #expect(report.repeated == 1)
        #expect(try places() == ([0, 1], []))
        #expect(try fixture.status().problems == [])
    }

    @Test func `a damaged quarantine file is left as it is`() throws {
        try fixture.addFinishedSegment(bad: 2)
        let name = try #require(try fixture.names(.quarantine).first)
        let path = "\(spool.quarantine)/\(name)"
        var bytes = try FileSystem.contents(of: path, limit: 1 << 20)
        bytes[bytes.count / 2] ^= 1
        let file = try File(opening: path, O_WRONLY)
        try bytes.withUnsafeBytes { try file.write($0) }
        let report = try run(.discard) { _, _ in .take }
        #expect(report.damagedFiles.map(\.sealedFileName) == [name])
        #expect(report.taken == 0)
        #expect(try FileSystem.contents(of: path, limit: 1 << 20) == bytes)
    }

    // MARK: Interruptions

    @Test(arguments: QuarantineEditor.Step.allCases, [QuarantineMove.Kind.replay, .discard])
    func `an error at any step loses and doubles nothing`(step: QuarantineEditor.Step, kind: QuarantineMove.Kind) throws
    {
        try fixture.addFinishedSegment(records: 20, bad: 10)
        let broken = editor { (reached) throws(SpoolError) in
            if reached == step { throw SpoolError(.io, path: "test", detail: "interrupted") }
        }
        #expect(throws: SpoolError.self) { try run(kind, by: broken) { item, _ in even(item) } }
        try checkInterrupted(kind, isDecided: step.isBehindLine)
    }

    /// Case C79.
    @Test(arguments: QuarantineEditor.Step.allCases, [QuarantineMove.Kind.replay, .discard])
    func `a kill at any step loses and doubles nothing`(
        step: QuarantineEditor.Step,
        kind: QuarantineMove.Kind
    ) async throws {
        try fixture.addFinishedSegment(records: 20, bad: 10)
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [root = fixture.spool.root as String, step = step.text as String, kind = kind.rawValue as String] in
            let spool = try SpoolFolder.open(root, role: .relay)
            let clock = ManualClock()
            clock.advance(milliseconds: 1)
            let ledger = try Ledger(in: spool, clock: clock.clock)
            let editor = QuarantineEditor(in: spool, ledger: ledger, clock: clock.clock) {
                (reached) throws(SpoolError) in
                if reached.text == step { kill(getpid(), SIGKILL) }
            }
            let kind = try #require(QuarantineMove.Kind(rawValue: kind))
            _ = try editor.run(kind) { item, _ in item.origin.index % 2 == 0 ? .take : .leave }
        }
        try checkInterrupted(kind, isDecided: step.isBehindLine)
    }

    private func checkInterrupted(_ kind: QuarantineMove.Kind, isDecided: Bool) throws {
        // The books are right before anything is repaired.
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.accepted == 20)
        let moved = isDecided ? 5 : 0
        #expect(status.quarantined == 10 - moved)
        #expect(status.pending == (kind == .replay ? moved : 0))
        #expect(status.counts.discarded == (kind == .discard ? moved : 0))
        // What was decided is completed, what was not is as it was, whatever is asked for then.
        fixture.clock.stepWall(milliseconds: (Int64(time(nil)) + 3600) * 1000 - fixture.clock.clock.wallMilliseconds())
        _ = try run(kind) { _, _ in .leave }
        let odd = [1, 3, 5, 7, 9]
        let all = Array(0..<10)
        #expect(try places() == (kind == .replay && isDecided ? all.filter { $0 % 2 == 0 } : [], isDecided ? odd : all))
        #expect(try fixture.status().problems == [])
        #expect(try fixture.names(.quarantine).allSatisfy { !$0.hasPrefix(".new-") }, "old leftovers are removed")
        // And the same command again ends where it would have ended at once.
        let again = try run(kind) { item, _ in even(item) }
        #expect(again.taken == (isDecided ? 0 : 5))
        #expect(try places() == (kind == .replay ? all.filter { $0 % 2 == 0 } : [], odd))
        let end = try fixture.status()
        #expect(end.problems == [])
        #expect(end.quarantined == 5)
    }

    /// Case C77.
    @Test func `five rounds with the cause still there leave one entry a record`() throws {
        try fixture.addFinishedSegment(records: 1000, bad: 1000)
        for round in 1...5 {
            let report = try run(.replay) { _, _ in .take }
            #expect(report.taken == (round == 1 ? 1000 : 1))
            let replay = try #require(report.segments.first)
            let lines = try fixture.readyRecords()
            let writer = try QuarantineWriter(for: replay, in: spool, readsExisting: false, clock: fixture.clock.clock)
            let bad = try #require(lines.first)
            bad.withBytes { _ = writer.append(fixture.entry(fixture.name(0), 0, replays: round), record: $0) }
            try writer.finish()
            var counts = OutcomeCounts()
            (counts.delivered, counts.quarantined) = (lines.count - 1, 1)
            try fixture.ledger.append([.finished(replay, counts)])
            try FileSystem.remove(spool.ready(replay))
            #expect(try fixture.quarantined().map(\.replays) == [round])
            #expect(try fixture.status().problems == [])
            fixture.clock.advance(milliseconds: 1000)
        }
    }
}

extension QuarantineEditor.Step {
    var isBehindLine: Bool {
        switch self {
        case .fileLocked, .chosenWritten, .restWritten, .folderSynced: false
        case .lineWritten, .segmentMoved, .restMoved, .sourceRemoved: true
        }
    }

    var text: String { "\(self)" }
}

extension String {
    func components(of part: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: part) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}

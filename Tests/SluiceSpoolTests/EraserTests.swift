// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct EraserTests {
    private let fixture: SpoolFixture

    init() throws { fixture = try SpoolFixture() }

    private var spool: SpoolFolder { fixture.spool }

    private static func record(_ number: Int, user: String? = nil, anonymous: String = "a") -> String {
        let trusted = user.map { #"{"user_id":"\#($0)"}"# } ?? "{}"
        return #"{"received_at":1796000000,"collection":"c","timestamp":1796000000,"trusted":\#(trusted),"#
            + #""envelope":{"event":"e","event_id":"e-\#(number)","occurred_at":1796000000,"#
            + #""anonymous_id":"\#(anonymous)","properties":{}}}"#
    }

    /// Finishes a segment all of whose records are in quarantine.
    private func quarantine(_ records: [String]) throws {
        let segment = try fixture.addSegment(records: records.count)
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false, clock: fixture.clock.clock)
        for (index, record) in records.enumerated() {
            record.withBytes { _ = writer.append(fixture.entry(segment, index), record: $0) }
        }
        try writer.finish()
        var counts = OutcomeCounts()
        counts.quarantined = records.count
        try fixture.ledger.append([.finished(segment, counts)])
        try FileSystem.remove(spool.ready(segment))
    }

    /// Runs until no file is busy: children of other tests hold copies of locks until they execute their program.
    private func erase(_ persons: Person..., isDryRun: Bool = false) throws(SpoolError) -> Eraser.Report {
        for _ in 0..<1_000_000 {
            let eraser = Eraser(with: QuarantineEditor(in: spool, ledger: fixture.ledger, clock: fixture.clock.clock))
            let report = try eraser.run(persons, isDryRun: isDryRun)
            if report.busyFiles.isEmpty { return report }
            sched_yield()
        }
        Issue.record("a file stays busy")
        return Eraser.Report()
    }

    private func seal(_ records: [String]) throws {
        let name = fixture.name(900, writer: 9)
        let file = try SegmentFile(creating: name, in: spool.ready, as: name.sealedFileName, createdAt: 1_796_000_000)
        let lines = records.map { $0 + "\n" }.joined()
        try lines.withBytes {
            _ = try file.append($0, records: records.count, receivedAt: 1_796_000_000...1_796_000_000)
        }
        try file.finish()
        try fixture.ledger.append([.sealed(name, records: records.count, isReplay: true)])
    }

    @Test func `records leave quarantine and are counted, others stay`() throws {
        try quarantine([
            Self.record(0, user: "u-1"), Self.record(1), Self.record(2, anonymous: "dev"), Self.record(3, user: "u-2"),
        ])
        let report = try erase(Person(.user, "u-1"), Person(.anonymous, "dev"))
        #expect(report.removed == 2)
        #expect(report.otherIDs == 1, "the anonymous id of the user's record")
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.counts.erased == 2)
        #expect(status.quarantined == 2)
        #expect(try fixture.quarantined().map(\.record) == [Self.record(1), Self.record(3, user: "u-2")])
        let again = try erase(Person(.user, "u-1"), Person(.anonymous, "dev"))
        #expect(again.removed == 0)
        #expect(try fixture.status().counts.erased == 2)
    }

    @Test func `a dry run finds all of it and changes nothing`() throws {
        try quarantine([Self.record(0, user: "u-1"), Self.record(1)])
        try seal([Self.record(5, user: "u-1"), Self.record(6)])
        let ledger = try FileSystem.contents(of: spool.ledger, limit: 1 << 20)
        let report = try erase(Person(.user, "u-1"), isDryRun: true)
        #expect(report.removed == 1)
        #expect(report.waiting == 1)
        #expect(try FileSystem.contents(of: spool.ledger, limit: 1 << 20) == ledger)
        #expect((try? FileStatus(of: spool.erased)) == nil)
        #expect(try fixture.quarantined().count == 2)
    }

    @Test func `what waits, what is claimed and what is known as delivered is told apart`() throws {
        try seal((0..<10).map { Self.record($0, user: $0 < 5 ? "u-1" : "u-2") })
        let worker = try Worker.start(in: spool, clock: fixture.clock.clock)
        #expect(try erase(Person(.user, "u-1")).waiting == 5)
        let claim = try #require(try worker.claimNext())
        let progress = try Progress(of: claim.segment, in: spool)
        var buffer = ByteBuffer()
        let reader = try SegmentReader(opening: claim.path)
        guard case .frame(let offset, _, _) = try reader.next(into: &buffer) else {
            Issue.record("no frame")
            return
        }
        try progress.append([ProgressEntry(frame: offset, first: 0, count: 2, outcome: .delivered)])
        let report = try erase(Person(.user, "u-1"))
        #expect(report.waiting == 0)
        #expect(report.claimed == 3)
        #expect(report.delivered == 2)
    }

    @Test func `a file of a segment that is not finished is left to the relay, and told`() throws {
        let segment = try fixture.addSegment(records: 1)
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false, clock: fixture.clock.clock)
        Self.record(0, user: "u-1").withBytes { _ = writer.append(fixture.entry(segment, 0), record: $0) }
        try writer.finish()
        let eraser = Eraser(with: QuarantineEditor(in: spool, ledger: fixture.ledger, clock: fixture.clock.clock))
        let report = try eraser.run([Person(.user, "u-1")], isDryRun: false)
        #expect(report.busyFiles.count == 1)
        #expect(report.removed == 0)
        let list = ErasureList(in: spool)
        try list.refresh()
        #expect(!list.book.isSwept)
    }

    @Test func `a line that is no record and shows the id goes too`() throws {
        let segment = try fixture.addSegment(records: 2)
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false, clock: fixture.clock.clock)
        for (index, line) in [#"["user_id":"somebody-1""#, "nobody"].enumerated() {
            line.withBytes { _ = writer.append(fixture.entry(segment, index), record: $0, isObject: false) }
        }
        try writer.finish()
        var counts = OutcomeCounts()
        counts.quarantined = 2
        try fixture.ledger.append([.finished(segment, counts)])
        try FileSystem.remove(spool.ready(segment))
        #expect(try erase(Person(.user, "somebody-1")).removed == 1)
        #expect(try fixture.status().counts.erased == 1)
        #expect(try fixture.status().problems == [])
    }

    @Test func `persons of earlier requests are looked for as well`() throws {
        try quarantine([Self.record(0, user: "u-1"), Self.record(1, user: "u-2")])
        try ErasureList(in: spool).add([Person(.user, "u-2")], until: 1_796_000_000, clock: fixture.clock.clock)
        let report = try erase(Person(.user, "u-1"))
        #expect(report.removed == 1)
        #expect(report.removedEarlier == 1)
        #expect(try fixture.status().counts.erased == 2)
    }

    @Test func `a clock that went back spares nothing that is here`() throws {
        try quarantine([Self.record(0, user: "u-1")])
        fixture.clock.stepWall(milliseconds: -86_400_000)
        #expect(try erase(Person(.user, "u-1")).removed == 1)
    }

    @Test func `a part that stands twice in a record hides nobody`() throws {
        let twins = [#","trusted":{"user_id":"u-1"}}"#, #","envelope":{"anonymous_id":"dev"}}"#]
        try quarantine(twins.map { Self.record(0).dropLast() + $0 } + [Self.record(1)])
        #expect(try erase(Person(.user, "u-1"), Person(.anonymous, "dev")).removed == 2)
        #expect(try fixture.quarantined().map(\.record) == [Self.record(1)])
    }

    // MARK: Interruptions

    @Test(arguments: QuarantineEditor.Step.allCases)
    func `an error at any step, and the same command again, erases each record once`(
        step: QuarantineEditor.Step
    ) throws {
        try quarantine((0..<10).map { Self.record($0, user: "u-\($0 % 2)") })
        let broken = QuarantineEditor(in: spool, ledger: fixture.ledger, clock: fixture.clock.clock) {
            (reached) throws(SpoolError) in
            if reached == step { throw SpoolError(.io, path: "test", detail: "interrupted") }
        }
        #expect(throws: SpoolError.self) { try Eraser(with: broken).run([Person(.user, "u-1")], isDryRun: false) }
        try checkInterrupted()
    }

    @Test(arguments: QuarantineEditor.Step.allCases)
    func `a kill at any step, and the same command again, erases each record once`(
        step: QuarantineEditor.Step
    ) async throws {
        try quarantine((0..<10).map { Self.record($0, user: "u-\($0 % 2)") })
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [root = fixture.spool.root as String, step = step.text as String] in
            let spool = try SpoolFolder.open(root, role: .relay)
            let clock = ManualClock()
            clock.advance(milliseconds: 1)
            let ledger = try Ledger(in: spool, clock: clock.clock)
            let editor = QuarantineEditor(in: spool, ledger: ledger, clock: clock.clock) {
                (reached) throws(SpoolError) in
                if reached.text == step { kill(getpid(), SIGKILL) }
            }
            _ = try Eraser(with: editor).run([Person(.user, "u-1")], isDryRun: false)
        }
        try checkInterrupted()
    }

    private func checkInterrupted() throws {
        #expect(try fixture.status().problems == [])
        let list = ErasureList(in: spool)
        try list.refresh()
        #expect(list.book.covers(Person(.user, "u-1"), receivedAt: 1_796_000_000), "the list comes first")
        _ = try erase(Person(.user, "u-1"))
        let status = try fixture.status()
        #expect(status.problems == [])
        #expect(status.counts.erased == 5)
        #expect(status.quarantined == 5)
        #expect(try fixture.quarantined().allSatisfy { $0.record.contains("u-0") })
    }
}

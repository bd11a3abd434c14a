// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct ProgressTests {
    let fixture: SpoolFixture
    let segment: SegmentName

    init() throws {
        fixture = try SpoolFixture()
        segment = fixture.name(0)
    }

    private func open() throws -> Progress { try Progress(of: segment, in: fixture.spool) }

    private var path: String { fixture.spool.progress(segment) }

    private func entry(_ frame: Int, _ first: Int, _ count: Int, _ outcome: Outcome) -> ProgressEntry {
        ProgressEntry(frame: frame, first: first, count: count, outcome: outcome)
    }

    @Test func `nothing is made before there is something to note`() throws {
        let progress = try open()
        #expect(progress.resolved.isEmpty)
        try progress.append([])
        try progress.sync()
        #expect(try fixture.names(.progress).isEmpty)
    }

    @Test func `what was noted is found again`() throws {
        let progress = try open()
        try progress.append([entry(100, 0, 50, .delivered), entry(100, 60, 1, .quarantined)])
        try progress.append([entry(5_000_000_000, 0, 3, .expired), entry(100, 50, 5, .delivered)])
        try progress.sync()
        let resolved = try open().resolved
        #expect(resolved.counts.delivered == 55)
        #expect(resolved.counts.quarantined == 1)
        #expect(resolved.counts.expired == 3)
        #expect(resolved.count == 59)
        #expect(resolved.outcome(frame: 100, index: 0) == .delivered)
        #expect(resolved.outcome(frame: 100, index: 54) == .delivered)
        #expect(resolved.outcome(frame: 100, index: 55) == nil)
        #expect(resolved.outcome(frame: 100, index: 60) == .quarantined)
        #expect(resolved.outcome(frame: 99, index: 0) == nil)
        #expect(resolved.outcome(frame: 5_000_000_000, index: 2) == .expired)
        #expect(resolved.outcome(frame: 5_000_000_000, index: 3) == nil)
        #expect(resolved.runs(inFrame: 100).map(\.count) == [55, 1])
        #expect(resolved.runs(inFrame: 101).isEmpty)
    }

    @Test func `what is resolved twice counts once, as it was first`() throws {
        let progress = try open()
        try progress.append([entry(7, 10, 10, .delivered), entry(7, 5, 20, .duplicate), entry(7, 0, 100, .expired)])
        let resolved = try open().resolved
        #expect(resolved.counts.delivered == 10)
        #expect(resolved.counts.duplicate == 10)
        #expect(resolved.counts.expired == 80)
        #expect(resolved.outcome(frame: 7, index: 9) == .duplicate)
        #expect(resolved.outcome(frame: 7, index: 10) == .delivered)
        #expect(resolved.outcome(frame: 7, index: 20) == .duplicate)
        #expect(resolved.outcome(frame: 7, index: 99) == .expired)
    }

    @Test func `every cut leaves the whole entries before it`() throws {
        try open().append((0..<10).map { entry($0, $0, 1, .delivered) })
        let bytes = try FileSystem.contents(of: path, limit: 1 << 20)
        #expect(bytes.count == 10 * ProgressEntry.size)
        for length in 0...bytes.count {
            let file = try File(opening: path, O_WRONLY | O_TRUNC)
            try bytes[..<length].withUnsafeBytes { try file.write($0) }
            #expect(try open().resolved.count == length / ProgressEntry.size)
        }
    }

    @Test func `a flipped bit costs one entry and gives none`() throws {
        try open().append((0..<4).map { entry(1000 + $0, 3, 2, .delivered) })
        let bytes = try FileSystem.contents(of: path, limit: 1 << 20)
        for bit in 0..<(bytes.count * 8) {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << (bit % 8)
            let file = try File(opening: path, O_WRONLY | O_TRUNC)
            try damaged.withUnsafeBytes { try file.write($0) }
            let resolved = try open().resolved
            #expect(resolved.count == 6)
            for frame in 0..<4 where frame != bit / 8 / ProgressEntry.size {
                #expect(resolved.outcome(frame: 1000 + frame, index: 4) == .delivered)
            }
        }
    }

    @Test func `entries behind a torn one are found`() throws {
        try open().append([entry(1, 0, 1, .delivered)])
        let file = try File(opening: path, O_WRONLY | O_APPEND)
        try file.write("torn")
        let progress = try open()
        #expect(progress.ignoredBytes == 4)
        try progress.append([entry(2, 0, 1, .delivered)])
        #expect(try open().resolved.count == 2)
    }

    @Test func `zeros and another segment's entries resolve nothing`() throws {
        let file = try File(opening: path, O_WRONLY | O_CREAT)
        try [UInt8](repeating: 0, count: 4096).withUnsafeBytes { try file.write($0) }
        #expect(try open().resolved.isEmpty)
        let other = try Progress(of: fixture.name(1), in: fixture.spool)
        try other.append([entry(1, 0, 1, .delivered)])
        try FileSystem.replace(path, with: fixture.spool.progress(fixture.name(1)))
        #expect(try open().resolved.isEmpty)
    }

    @Test(.enabled(if: canMount, "needs root, to mount"))
    func `a full disk is told, and the same entries go in later`() throws {
        let folder = TemporaryFolder()
        try #require(run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder.path]) == 0)
        defer { _ = run(["umount", folder.path]) }
        let spool = try SpoolFolder.open(folder.path, role: .relay)
        let progress = try Progress(of: segment, in: spool)
        let entries = (0..<200).map { entry($0, 0, 1, .delivered) }
        try progress.append(entries[..<100])
        let filler = try File(opening: folder.path("filler"), O_WRONLY | O_CREAT)
        #expect(throws: SystemError.self) {
            while true { try [UInt8](repeating: 1, count: 4096).withUnsafeBytes { try filler.write($0) } }
        }
        let error = #expect(throws: SpoolError.self) { try progress.append(entries[100...]) }
        #expect(error?.code == .outOfSpace)
        #expect(error?.disposition == .retry)
        #expect(try Progress.resolved(of: segment, in: spool).count == 100)
        try filler.truncate(to: 0)
        try progress.append(entries[100...])
        #expect(try Progress.resolved(of: segment, in: spool).count == 200)
    }

    @Test func `progress of what is finished and gone is removed, and no other`() throws {
        let finished = try fixture.addFinishedSegment(bad: 0)
        let pending = try fixture.addSegment()
        let lost = try fixture.addSegment()
        let foreign = fixture.name(99, writer: 3)
        for segment in [finished, pending, lost, foreign] {
            try Progress(of: segment, in: fixture.spool).append([entry(1, 0, 1, .delivered)])
        }
        try FileSystem.remove(fixture.spool.ready(lost))
        try fixture.folder.write("x", to: "spool/progress/readme")
        #expect(try Progress.removeOrphans(in: fixture.spool, ledger: fixture.ledger) == 2)
        #expect(try fixture.names(.progress) == [pending.text, lost.text, "readme"])
    }

    @Test func `a random order of runs comes to the same as a plain array`() throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var model = [Outcome?](repeating: nil, count: 64)
            var entries: [ProgressEntry] = []
            var inserted = ResolvedRecords()
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                let first = Int.random(in: 0..<60, using: &generator)
                let count = Int.random(in: 1...(64 - first), using: &generator)
                let outcome = Outcome.allCases.randomElement(using: &generator) ?? .delivered
                entries.append(entry(9, first, count, outcome))
                inserted.insert(entry(9, first, count, outcome))
                for index in first..<(first + count) where model[index] == nil { model[index] = outcome }
            }
            let resolved = ResolvedRecords(entries)
            for index in 0..<64 {
                #expect(resolved.outcome(frame: 9, index: index) == model[index], "seed \(seed)")
                #expect(inserted.outcome(frame: 9, index: index) == model[index], "seed \(seed)")
            }
            #expect(resolved.count == model.count { $0 != nil }, "seed \(seed)")
            #expect(inserted.counts == resolved.counts, "seed \(seed)")
        }
    }
}

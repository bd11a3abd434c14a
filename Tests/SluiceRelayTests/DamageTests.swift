// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Damaged segments of every kind in one spool: what can be read is delivered, what cannot is kept and counted.
///
/// Cases C35, C36 and C50.
struct DamageTests {
    /// Four groups of three records; each variant of it is another segment of the spool.
    private struct Original {
        var bytes: [UInt8]
        /// From each group's first byte to its last.
        var groups: [Range<Int>]

        init(_ fixture: RelayFixture) throws {
            let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 9, sequence: 0)
            let file = try SegmentFile(
                creating: name,
                in: fixture.temporary.path,
                as: "original",
                createdAt: 1_796_000_000
            )
            groups = []
            for group in 0..<4 {
                let start = file.fileBytes
                var lines = ByteBuffer(capacity: 4096)
                for record in RelayFixture.records(group * 3..<group * 3 + 3) {
                    lines.append(record)
                    lines.append("\n")
                }
                try file.append(lines: lines.bytes, receivedAt: 1_796_000_000...1_796_000_000)
                groups.append(start..<file.fileBytes)
            }
            try file.finish()
            bytes = try FileSystem.contents(of: file.path, limit: 1 << 20)
        }

        /// Records of the groups that no byte of `range` belongs to.
        func untouched(by range: Range<Int>) -> Int { groups.filter { !$0.overlaps(range) }.count * 3 }
    }

    /// Puts variants of a segment into `ready/` as sealed segments of twelve records, and drains them.
    private func drain(_ fixture: RelayFixture, _ variants: [[UInt8]]) throws -> RelaySummary {
        let ledger = try Ledger(in: fixture.spool)
        var lines: [LedgerEvent] = []
        for (number, bytes) in variants.enumerated() {
            let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 10, sequence: UInt64(number))
            let file = try File(opening: fixture.spool.ready(name), O_WRONLY | O_CREAT | O_EXCL)
            try bytes.withUnsafeBytes { try file.write($0) }
            lines.append(.sealed(name, records: 12))
        }
        try ledger.append(lines)
        fixture.options.duplicateWindow = 0
        fixture.options.mode = .drain(deadlineSeconds: 120)
        return try fixture.drain()
    }

    private func check(_ summary: RelaySummary, _ fixture: RelayFixture, variants: Int, atLeast readable: Int) throws {
        #expect(summary.segments == variants)
        #expect(!summary.isWorkLeft)
        // Equal records of several segments at once count as one delivery and its duplicates.
        let read = summary.counts.delivered + summary.counts.duplicate
        #expect(read >= readable)
        #expect(read + summary.counts.damaged == variants * 12)
        #expect(summary.counts.quarantined == 0)
        #expect(fixture.readyNames.isEmpty)
    }

    @Test func `a segment that is cut gives all records before the cut, and the rest is counted`() throws {
        let fixture = try RelayFixture()
        let original = try Original(fixture)
        let cuts = Array(stride(from: 0, to: original.bytes.count, by: 3))
        let summary = try drain(fixture, cuts.map { Array(original.bytes[..<$0]) })
        let readable = cuts.reduce(0) { $0 + original.untouched(by: $1..<original.bytes.count) }
        try check(summary, fixture, variants: cuts.count, atLeast: readable)
        #expect(summary.counts.damaged == cuts.count * 12 - readable)
        #expect(summary.metDamage)
    }

    @Test func `a segment zeroed from some offset gives all records before it, and the zeros are damage`() throws {
        let fixture = try RelayFixture()
        let original = try Original(fixture)
        let offsets = Array(stride(from: 0, to: original.bytes.count, by: 5))
        let summary = try drain(
            fixture,
            offsets.map { original.bytes[..<$0] + [UInt8](repeating: 0, count: original.bytes.count - $0) }
        )
        let readable = offsets.reduce(0) { $0 + original.untouched(by: $1..<original.bytes.count) }
        try check(summary, fixture, variants: offsets.count, atLeast: readable)
    }

    @Test func `one flipped bit costs at most the records of its own frame`() throws {
        let fixture = try RelayFixture()
        let original = try Original(fixture)
        var generator = SystemRandomNumberGenerator()
        let places = original.bytes.indices.filter { $0 % 3 == 1 }.map {
            ($0, UInt8.random(in: 0..<8, using: &generator))
        }
        let summary = try drain(
            fixture,
            places.map { place, bit in
                var bytes = original.bytes
                bytes[place] ^= 1 << bit
                return bytes
            }
        )
        let readable = places.reduce(0) { $0 + original.untouched(by: $1.0..<$1.0 + 1) }
        try check(summary, fixture, variants: places.count, atLeast: readable)
    }

    @Test func `damaged bytes are kept as they are, at the offset where they stood`() throws {
        let fixture = try RelayFixture()
        let original = try Original(fixture)
        var bytes = original.bytes
        let middle = original.groups[1].upperBound - 20
        bytes[middle] ^= 0x10
        _ = try drain(fixture, [bytes])
        let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 10, sequence: 0)
        let kept = try FileSystem.contents(of: fixture.spool.damaged(name), limit: 1 << 20)
        #expect(kept.count > middle)
        #expect(kept[middle] == bytes[middle])
        let entries = try fixture.quarantined()
        #expect(entries.map(\.reason) == ["damaged"])
        #expect(entries[0].line.contains(#""records":3"#))
    }

    /// What an earlier claim has left of the second group's records 0 to 2 before its bytes were overwritten.
    enum Remainder: CaseIterable {
        /// 0 and 1 delivered, 2 in quarantine, all noted.
        case noted
        /// The same, but the relay was killed before it could note what it put into quarantine.
        case quarantineUnnoted
        /// Delivered, delivered, open.
        case open
        /// Nothing noted, but the damage is in quarantine already.
        case damageKnown
    }

    @Test(arguments: Remainder.allCases, [true, false])
    func `what was resolved before its bytes were damaged keeps its outcome, and the books balance`(
        remainder: Remainder,
        isSealed: Bool
    ) throws {
        let fixture = try RelayFixture()
        let original = try Original(fixture)
        let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 10, sequence: 0)
        let ledger = try Ledger(in: fixture.spool)
        // Whoever claims an unsealed segment notes what the frames declare.
        try ledger.append([.sealed(name, records: 12, isExact: isSealed)])
        let group = original.groups[1]
        let frame = group.lowerBound + SegmentReader.countFrameBytes
        try leave(remainder, of: name, frame: frame, groupStart: group.lowerBound, in: fixture)
        var bytes = original.bytes
        for index in group where remainder == .damageKnown || index >= frame { bytes[index] = 0 }
        if !isSealed { bytes = Array(bytes[..<original.groups[3].upperBound]) }
        let file = try File(opening: fixture.spool.ready(name), O_WRONLY | O_CREAT | O_EXCL)
        try bytes.withUnsafeBytes { try file.write($0) }
        fixture.options.duplicateWindow = 0
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 9)
        let counts = try Ledger.book(of: fixture.spool).totals.counts
        switch remainder {
        case .noted, .quarantineUnnoted:
            #expect((counts.delivered, counts.quarantined, counts.damaged) == (11, 1, 0))
        case .open: #expect((counts.delivered, counts.quarantined, counts.damaged) == (11, 0, 1))
        case .damageKnown: #expect((counts.delivered, counts.quarantined, counts.damaged) == (9, 0, 3))
        }
        let status = try SpoolStatus.read(fixture.spool)
        #expect(status.balanced, "\(status.problems)")
        #expect(status.accepted == 12)
    }

    private func leave(
        _ remainder: Remainder,
        of name: SegmentName,
        frame: Int,
        groupStart: Int,
        in fixture: RelayFixture
    ) throws {
        let progress = try Progress(of: name, in: fixture.spool)
        let quarantine = try QuarantineWriter(for: name, in: fixture.spool, readsExisting: false)
        var entry = QuarantineEntry(
            quarantinedAt: 1_796_000_000,
            reason: "upstream_rejected",
            detail: "",
            origin: RecordOrigin(segment: name, frame: frame, index: 2)
        )
        if remainder == .damageKnown {
            entry.reason = QuarantineEntry.damagedReason
            entry.origin = RecordOrigin(segment: name, frame: groupStart, index: 0)
            entry.damage = .init(offset: groupStart, length: 60, records: 3)
            quarantine.append(entry, record: nil)
            return try quarantine.finish()
        }
        try progress.append([ProgressEntry(frame: frame, first: 0, count: 2, outcome: .delivered)])
        if remainder == .open { return }
        Array(RelayFixture.record("evt_5").utf8).withUnsafeBytes { _ = quarantine.append(entry, record: $0) }
        try quarantine.finish()
        guard remainder == .noted else { return }
        try progress.append([ProgressEntry(frame: frame, first: 2, count: 1, outcome: .quarantined)])
    }

    @Test func `an unfinished frame at the end of an unsealed segment counts for nothing and is no error`() throws {
        let fixture = try RelayFixture()
        let original = try Original(fixture)
        let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 11, sequence: 0)
        let file = try File(opening: fixture.spool.ready(name), O_WRONLY | O_CREAT | O_EXCL)
        try original.bytes[..<(original.groups[3].upperBound - 5)].withUnsafeBytes { try file.write($0) }
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 9)
        #expect(summary.counts.damaged == 0)
        #expect(!summary.metDamage)
        #expect(try fixture.quarantined().map(\.reason) == ["torn_tail"])
    }

    /// Case C50.
    @Test func `one damaged segment in front does not stop twenty good ones`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        let original = try Original(fixture)
        let name = SegmentName(millisecondsSince1970: 1_795_000_000_000, writer: 12, sequence: 0)
        let file = try File(opening: fixture.spool.ready(name), O_WRONLY | O_CREAT | O_EXCL)
        try Array(original.bytes.reversed()).withUnsafeBytes { try file.write($0) }
        for number in 0..<20 { try fixture.seal(RelayFixture.records(number * 10..<number * 10 + 10)) }
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 200)
        #expect(summary.metDamage)
        #expect(!summary.isWorkLeft)
        // Later runs are quiet.
        let second = try fixture.drain()
        #expect(!second.metDamage && second.counts.total == 0)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceJSON
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct QuarantineTests {
    let fixture: SpoolFixture

    init() throws { fixture = try SpoolFixture() }

    private var spool: SpoolFolder { fixture.spool }

    private func writer(
        _ segment: SegmentName,
        readsExisting: Bool = false,
        limitBytes: Int? = nil
    ) throws -> QuarantineWriter {
        try QuarantineWriter(
            for: segment,
            in: spool,
            readsExisting: readsExisting,
            limitBytes: limitBytes,
            clock: fixture.clock.clock
        )
    }

    private func add(_ index: Int, of segment: SegmentName, to writer: QuarantineWriter) -> Bool {
        SpoolFixture.record(index).withBytes { writer.append(fixture.entry(segment, index), record: $0) }
    }

    /// Case C78.
    @Test func `an entry comes back with every fact and the record byte for byte`() throws {
        let segment = fixture.name(0)
        let record = #"{"received_at":1,"envelope":{"event":"ü\u0000\"","n":1e5, "x" : [ 1,2 ]},"trusted":{}}"#
        var entry = fixture.entry(segment, 3, replays: 2)
        entry.detail = "said \"no\"\n" + String(repeating: "ü", count: 2000)
        let writer = try writer(segment)
        let line = record + "\n"
        line.withBytes { #expect(writer.append(entry, record: $0)) }
        try writer.finish()
        let folder = QuarantineFolder(of: spool)
        let files = try folder.files(try fixture.ledger.book())
        #expect(files.count == 1)
        var seen = 0
        try folder.read(try #require(files.first)) { item in
            seen += 1
            var expected = entry
            expected.detail = "said \"no\"\n" + String(repeating: "ü", count: 507)
            #expect(item.entry == expected)
            #expect(item.event == "ü\0\"")
            #expect(item.record.map { String(decoding: $0, as: UTF8.self) } == record)
        }
        #expect(seen == 1)
        #expect(run(["lz4", "-t", "-q", files[0].path]) == 0)
    }

    @Test func `no file is made without an entry`() throws {
        let writer = try writer(fixture.name(0))
        try writer.sync()
        try writer.finish()
        #expect(try fixture.names(.quarantine).isEmpty)
        #expect(writer.isEmpty)
    }

    @Test func `one record has one entry`() throws {
        let writer = try writer(fixture.name(0))
        #expect(add(1, of: fixture.name(0), to: writer))
        #expect(!add(1, of: fixture.name(0), to: writer))
        try writer.sync()
        #expect(!add(1, of: fixture.name(0), to: writer))
        #expect(!writer.hasPending)
        #expect(writer.durableRecords == 1)
        try writer.finish()
        #expect(try fixture.quarantined().count == 1)
    }

    @Test func `a file that is being written is locked`() throws {
        let writer = try writer(fixture.name(0))
        _ = add(1, of: fixture.name(0), to: writer)
        try writer.sync()
        let name = try #require(try fixture.names(.quarantine).first)
        let file = try File(opening: "\(spool.quarantine)/\(name)", O_RDWR)
        #expect(try !file.tryLock())
        try writer.finish()
        #expect(try file.tryLock())
    }

    @Test func `whoever adopts a claim finds its entries`() async throws {
        let segment = fixture.name(0)
        await #expect(processExitsWith: .signal(SIGKILL)) { [root = fixture.spool.root as String] in
            let spool = try SpoolFolder.open(root, role: .relay)
            let segment = SegmentName(
                millisecondsSince1970: 1_796_000_000_000,
                writer: SpoolFixture.writer,
                sequence: 0
            )
            let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false)
            for index in [2, 5] {
                let origin = RecordOrigin(segment: segment, frame: 100, index: index)
                let entry = QuarantineEntry(quarantinedAt: 1, reason: "r", detail: "", origin: origin)
                SpoolFixture.record(index).withBytes { _ = writer.append(entry, record: $0) }
            }
            try writer.sync()
            let entry = QuarantineEntry(
                quarantinedAt: 1,
                reason: "r",
                detail: "",
                origin: RecordOrigin(segment: segment, frame: 100, index: 7)
            )
            "{}".withBytes { _ = writer.append(entry, record: $0) }
            kill(getpid(), SIGKILL)
        }
        let writer = try writer(segment, readsExisting: true)
        #expect(writer.durableRecords == 2)
        let known = (0..<10).filter { writer.contains(RecordOrigin(segment: segment, frame: 100, index: $0)) }
        #expect(known == [2, 5])
        #expect(!add(2, of: segment, to: writer))
        #expect(add(3, of: segment, to: writer))
        try writer.finish()
        #expect(try fixture.names(.quarantine).count == 2)
        #expect(try fixture.quarantined().count == 3)
        let other = try QuarantineWriter(for: fixture.name(1), in: spool, readsExisting: true)
        #expect(other.isEmpty)
    }

    @Test func `at the limit entries wait, and go in when there is room`() throws {
        try fixture.addFinishedSegment(bad: 5)
        let writer = try writer(fixture.name(5), limitBytes: 1)
        _ = add(1, of: fixture.name(5), to: writer)
        let error = #expect(throws: SpoolError.self) { try writer.sync() }
        #expect(error?.code == .outOfSpace)
        #expect(error?.disposition == .retry)
        #expect(writer.hasPending)
        #expect(writer.durableRecords == 0)
        for name in try fixture.names(.quarantine) { try FileSystem.remove("\(spool.quarantine)/\(name)") }
        fixture.clock.advance(milliseconds: 60_000)
        // Room for the entry itself is a matter of bytes that are there already.
        let roomy = try self.writer(fixture.name(5), limitBytes: 1 << 20)
        _ = add(1, of: fixture.name(5), to: roomy)
        try roomy.sync()
        #expect(roomy.durableRecords == 1)
    }

    @Test(.enabled(if: canMount, "needs root, to mount"))
    func `on a full disk entries wait and nothing is left behind`() throws {
        let folder = TemporaryFolder()
        try #require(run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder.path]) == 0)
        defer { _ = run(["umount", folder.path]) }
        let spool = try SpoolFolder.open(folder.path, role: .relay)
        let segment = fixture.name(0)
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false)
        _ = add(0, of: segment, to: writer)
        try writer.sync()
        let filler = try File(opening: folder.path("filler"), O_WRONLY | O_CREAT)
        #expect(throws: SystemError.self) {
            while true { try [UInt8](repeating: 1, count: 4096).withUnsafeBytes { try filler.write($0) } }
        }
        for index in 1..<400 { _ = add(index, of: segment, to: writer) }
        var random = SeededGenerator(seed: 1)
        for index in 400..<500 {
            let noise = (0..<300).map { _ in String(random.next(), radix: 36) }.joined()
            noise.withBytes { bytes in
                _ = writer.append(fixture.entry(segment, index), record: bytes)
            }
        }
        for _ in 0..<3 {
            let error = #expect(throws: SpoolError.self) { try writer.sync() }
            #expect(error?.code == .outOfSpace)
        }
        #expect(writer.durableRecords == 1)
        #expect(try FileSystem.names(in: spool.quarantine).count == 1)
        try filler.truncate(to: 0)
        try writer.sync()
        try writer.finish()
        #expect(writer.durableRecords == 500)
        var origins: Set<RecordOrigin> = []
        let quarantine = QuarantineFolder(of: spool)
        for file in try quarantine.files(LedgerBook()) {
            let reading = try quarantine.read(file) { _ in }
            #expect(reading.damagedRanges == 0)
            let reader = try SegmentReader(opening: file.path)
            var buffer = ByteBuffer()
            while case .frame = try reader.next(into: &buffer) {
                let text = String(decoding: buffer.bytes, as: UTF8.self)
                for index in 0..<500 where text.contains("\"index\":\(index)}") {
                    origins.insert(RecordOrigin(segment: segment, frame: 100, index: index))
                }
            }
        }
        #expect(origins.count == 500)
    }

    // MARK: Damage

    @Test func `what is missing is shared out over the damaged ranges`() throws {
        var damage = SegmentDamage()
        damage.addDamage(offset: 100, length: 10, declaredRecords: 5)
        damage.addDamage(offset: 200, length: 10, declaredRecords: nil)
        func assess(_ sealed: Int?, readable: Int) -> SegmentDamage.Assessment {
            damage.assess(
                segment: fixture.name(0),
                sealedRecords: sealed,
                readableRecords: readable,
                fileBytes: 300,
                at: 1
            )
        }
        let exact = assess(20, readable: 12)
        #expect(exact.damagedRecords == 8)
        #expect(exact.entries.map(\.records) == [5, 3])
        #expect(exact.entries.map(\.origin.frame) == [100, 200])
        #expect(assess(nil, readable: 12).entries.map(\.records) == [5, 0])
        #expect(assess(12, readable: 12).damagedRecords == 0)
        #expect(assess(16, readable: 12).entries.map(\.records) == [4, 0])
    }

    @Test func `a torn tail costs nothing unless sealed records are missing`() throws {
        var damage = SegmentDamage()
        damage.addTornTail(offset: 100, length: 10)
        let torn = damage.assess(
            segment: fixture.name(0),
            sealedRecords: 7,
            readableRecords: 7,
            fileBytes: 110,
            at: 1
        )
        #expect(torn.tornTails == 1)
        #expect(torn.damagedRecords == 0)
        #expect(torn.entries.map(\.reason) == ["torn_tail"])
        let lost = damage.assess(
            segment: fixture.name(0),
            sealedRecords: 9,
            readableRecords: 7,
            fileBytes: 110,
            at: 1
        )
        #expect(lost.tornTails == 0)
        #expect(lost.damagedRecords == 2)
        #expect(lost.entries.map(\.reason) == ["damaged"])
    }

    @Test func `records that are missing without a trace are entered all the same`() {
        let lost = SegmentDamage().assess(
            segment: fixture.name(0),
            sealedRecords: 9,
            readableRecords: 7,
            fileBytes: 110,
            at: 1
        )
        #expect(lost.damagedRecords == 2)
        #expect(lost.entries.map(\.damage) == [.init(offset: 110, length: 0, records: 2)])
    }

    @Test func `damaged bytes are kept where they stood, once`() throws {
        let segment = try fixture.addSegment()
        let path = spool.ready(segment)
        let bytes = try FileSystem.contents(of: path, limit: 1 << 20)
        var damage = SegmentDamage()
        damage.addDamage(offset: 20, length: 30, declaredRecords: nil)
        damage.addTornTail(offset: bytes.count - 11, length: 11)
        for _ in 0..<2 { try damage.saveBytes(from: path, of: segment, in: spool) }
        let kept = try FileSystem.contents(of: spool.damaged(segment), limit: 1 << 20)
        #expect(kept.count == bytes.count)
        #expect(kept[20..<50] == bytes[20..<50])
        #expect(kept.suffix(11) == bytes.suffix(11))
        #expect(kept[..<20].allSatisfy { $0 == 0 })
    }
}

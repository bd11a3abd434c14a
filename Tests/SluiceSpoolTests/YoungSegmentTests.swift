// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Synchronization
import Testing

/// Reading beside writers that have only just written.
///
/// Case C47.
struct YoungSegmentTests {
    private let folder = TemporaryFolder()

    @Test func `claims beside busy writers see whole segments only, and every record once`() throws {
        let spool = try SpoolFolder.open(folder.path("spool"), role: .relay)
        let ledger = try Ledger(in: spool)
        var options = SegmentWriterOptions()
        options.sealAge = .milliseconds(3)
        let running = Atomic(2)
        let producers = (0..<2).map { producer in
            let writer = SegmentWriter(spool: spool, ledger: ledger, options: options)
            return SystemThread(name: "producer") {
                for number in 0..<150 {
                    // An error shows in the lines below.
                    _ = try? "\(producer)-\(number)\n".withBytes {
                        try writer.append($0, count: 1, receivedAt: 1_796_000_000)
                    }
                    if number % 3 == 0 { _ = try? writer.flush() }
                }
                writer.stop()
                running.subtract(1, ordering: .releasing)
            }
        }

        let worker = try Worker.start(in: spool)
        var lines: [String] = []
        var isOver = false
        while !isOver {
            isOver = running.load(ordering: .acquiring) == 0
            let recovery = try IncomingRecovery(in: spool)
            #expect(recovery.recovered == [] && recovery.problems == [])
            while let claim = try worker.claimNext() {
                let reading = try Reading(opening: claim.path)
                #expect(reading.damaged == [] && reading.tornTail == nil)
                let delivered = reading.delivered.joined().split(separator: "\n").map(String.init)
                #expect(reading.footer?.records == delivered.count)
                guard case .sealed(let records, true, false) = try ledger.standing(of: claim.segment) else {
                    Issue.record("\(claim.segment) has no line of its writer")
                    continue
                }
                #expect(records == delivered.count)
                lines += delivered
                try worker.remove(claim.segment)
            }
        }
        for producer in producers { producer.join() }
        #expect(lines.count == 300 && Set(lines).count == 300)
        #expect(try worker.close() == 0)
        #expect(try FileSystem.names(in: spool.incoming) == [])
    }

    @Test func `a segment that is still growing reads up to its last whole group`() throws {
        let name = SegmentName(millisecondsSince1970: 1, writer: 2, sequence: 3)
        let file = try SegmentFile(creating: name, in: folder.path, as: name.openFileName, createdAt: 1)
        try file.show()
        let reader = try SegmentReader(opening: file.path)
        try "late\n".withBytes { try file.append($0, records: 1, receivedAt: 1...1) }
        var buffer = ByteBuffer()
        // A reader sees the file as long as it was when it was opened.
        #expect(try reader.next(into: &buffer) == .end(footer: nil))
        #expect(try Reading(opening: file.path).delivered == ["late\n"])
    }

    @Test func `a file that is cut while it is read ends as a torn tail`() throws {
        var random = SeededGenerator(seed: 8)
        let name = SegmentName(millisecondsSince1970: 1, writer: 2, sequence: 3)
        let file = try SegmentFile(creating: name, in: folder.path, as: name.openFileName, createdAt: 1)
        var last = 0
        for _ in 0..<40 {
            let line = (0..<40_000).map { _ in String(UInt8.random(in: 0...9, using: &random)) }.joined() + "\n"
            last = try line.withBytes { try file.append($0, records: 1, receivedAt: 1...1) }
        }
        let reader = try SegmentReader(opening: file.path)
        var buffer = ByteBuffer()
        _ = try reader.next(into: &buffer)
        try File(opening: file.path, O_RDWR).truncate(to: last + 1_000)
        var items: [SegmentReader.Item] = []
        while items.last != .end(footer: nil) { items.append(try reader.next(into: &buffer)) }
        #expect(items.count == 40)
        #expect(items[38] == .tornTail(offset: last - 56, length: 1_056, declaredRecords: 1))
    }
}

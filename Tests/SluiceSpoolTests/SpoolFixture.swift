// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// A spool in a temporary folder, with a clock that stands still, and segments made to order.
final class SpoolFixture {
    let folder: TemporaryFolder
    let clock = ManualClock()
    let spool: SpoolFolder
    let ledger: Ledger
    private var sequence: UInt64 = 0
    /// Writer of the segments that `addSegment` makes.
    static let writer: UInt64 = 0xABCD

    init() throws {
        folder = TemporaryFolder()
        spool = try SpoolFolder.open(folder.path("spool"), role: .relay)
        ledger = try Ledger(in: spool, clock: clock.clock)
    }

    static func record(_ number: Int, event: String = "screen_viewed") -> String {
        #"{"received_at":1796000000,"collection":"c","timestamp":1796000000,"trusted":{},"#
            + #""envelope":{"event":"\#(event)","event_id":"e-\#(number)","occurred_at":1796000000,"properties":{}}}"#
    }

    func name(_ sequence: UInt64, writer: UInt64 = SpoolFixture.writer) -> SegmentName {
        SegmentName(millisecondsSince1970: 1_796_000_000_000 + Int(sequence), writer: writer, sequence: sequence)
    }

    /// Puts a segment into `ready/`, with its `sealed` line unless told otherwise.
    @discardableResult
    func addSegment(records: Int = 10, frames: Int = 1, isSealed: Bool = true, footer: Bool = true) throws
        -> SegmentName
    {
        let name = name(sequence)
        sequence += 1
        let file = try SegmentFile(
            creating: name,
            in: spool.ready,
            as: name.sealedFileName,
            createdAt: 1_796_000_000
        )
        for frame in 0..<frames {
            let share = records / frames + (frame < records % frames ? 1 : 0)
            guard share > 0 else { continue }
            let lines = (0..<share).map { Self.record($0) + "\n" }.joined()
            try lines.withBytes { _ = try file.append($0, records: share, receivedAt: 1_796_000_000...1_796_000_000) }
        }
        try file.finish(footer: footer)
        if isSealed { try ledger.append([.sealed(name, records: records)]) }
        return name
    }

    func entry(_ segment: SegmentName, _ index: Int, reason: String = "upstream_rejected", replays: Int = 0)
        -> QuarantineEntry
    {
        QuarantineEntry(
            quarantinedAt: 1_796_000_000,
            reason: reason,
            detail: "the answer said no",
            status: 400,
            attempts: 2,
            origin: RecordOrigin(segment: segment, frame: 100, index: index),
            replays: replays
        )
    }

    /// Finishes a new segment with `bad` of its records in quarantine.
    @discardableResult
    func addFinishedSegment(records: Int = 10, bad: Int) throws -> SegmentName {
        let segment = try addSegment(records: records)
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false, clock: clock.clock)
        for index in 0..<bad {
            SpoolFixture.record(index).withBytes { _ = writer.append(entry(segment, index), record: $0) }
        }
        try writer.finish()
        var counts = OutcomeCounts()
        counts.delivered = records - bad
        counts.quarantined = bad
        try ledger.append([.finished(segment, counts)])
        try FileSystem.remove(spool.ready(segment))
        return segment
    }

    func status() throws -> SpoolStatus { try SpoolStatus.read(spool, clock: clock.clock, attempts: 1) }

    func names(_ part: SpoolFolder.Part) throws -> [String] { try FileSystem.names(in: spool.path(of: part)) }

    /// Everything in quarantine, each line once read.
    func quarantined() throws -> [(origin: RecordOrigin, record: String, replays: Int)] {
        var found: [(RecordOrigin, String, Int)] = []
        let folder = QuarantineFolder(of: spool)
        for file in try folder.files(try Ledger.book(of: spool)) {
            try folder.read(file) { item in
                found.append((item.origin, item.record.map { String(decoding: $0, as: UTF8.self) } ?? "", item.replays))
            }
        }
        return found
    }

    /// The lines of all records in `ready/`.
    func readyRecords() throws -> [String] {
        var lines: [String] = []
        for name in try names(.ready) where SegmentName(sealedFileName: name) != nil {
            let reader = try SegmentReader(opening: "\(spool.ready)/\(name)")
            var buffer = ByteBuffer()
            reading: while true {
                switch try reader.next(into: &buffer) {
                case .frame:
                    lines += String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
                case .damaged, .tornTail: break
                case .end: break reading
                }
            }
        }
        return lines
    }
}

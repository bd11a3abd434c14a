// SPDX-License-Identifier: Apache-2.0
import SluiceSoak
import SluiceSpool
import SluiceSystem

/// Compares what was acknowledged with what arrived, what is in quarantine and what is still in the spool.
struct SoakChecker {
    /// What became of the acknowledged events, each in one place, and of all events that arrived.
    struct Tally {
        var acknowledged = 0
        var delivered = 0
        var quarantined = 0
        var discarded = 0
        /// In bytes that were overwritten, and that quarantine keeps.
        var damaged = 0
        /// Of low durability, and nowhere.
        var expired = 0
        var pending = 0
        var lost = 0
        var lostExamples: [String] = []
        /// Events that arrived and were never acknowledged.
        var unacknowledged = 0
        /// Events that arrived more than once, and the deliveries that were too many.
        var duplicated = 0
        var repeats = 0
    }

    private enum Mark {
        static let quarantined: UInt8 = 1
        static let discarded: UInt8 = 2
        static let pending: UInt8 = 4
        static let damaged: UInt8 = 8
    }

    private struct DamagedRange {
        var range: Range<Int>
        var records: Int
    }

    private let plan: SoakPlan
    private let spool: SpoolFolder
    /// A byte for each event.
    private let marks: MappedFile
    private var damagedRanges: [SegmentName: [DamagedRange]] = [:]
    /// Records in quarantine that will be discarded.
    private(set) var recordsToDiscard = 0
    private(set) var problems: [String] = []

    init(plan: SoakPlan, spool: SpoolFolder, marksPath: String) throws {
        self.plan = plan
        self.spool = spool
        marks = try MappedFile(creating: marksPath, count: plan.capacity)
    }

    // MARK: The spool

    /// Notes what is in quarantine; what has `discardReason` is about to be discarded.
    mutating func readQuarantine(discardReason: String) throws {
        let folder = QuarantineFolder(of: spool)
        var seen: Set<RecordOrigin> = []
        for file in try folder.files(Ledger.book(of: spool)) {
            var found: [(number: Int?, item: QuarantineEntry, isRecord: Bool)] = []
            try folder.read(file) { (item) throws(SpoolError) in
                guard seen.insert(item.origin).inserted else { return }
                found.append((plan.number(inLine: item.line), item.entry, item.recordToken != nil))
            }
            for entry in found { note(entry.number, entry.item, entry.isRecord, discardReason) }
        }
    }

    private mutating func note(_ number: Int?, _ entry: QuarantineEntry, _ isRecord: Bool, _ discardReason: String) {
        if let damage = entry.damage {
            damagedRanges[entry.origin.segment, default: []].append(
                DamagedRange(range: damage.offset..<damage.offset + damage.length, records: damage.records)
            )
        } else if let number, isRecord {
            let isDiscarded = entry.reason.utf8.elementsEqual(discardReason.utf8)
            mark(number, isDiscarded ? Mark.discarded : Mark.quarantined)
            if isDiscarded { recordsToDiscard += 1 }
        } else {
            problems.append("quarantine holds something that is no event of the soak, reason \(entry.reason)")
        }
    }

    /// Notes what is still to be delivered.
    func readPending() throws {
        let listing = try SpoolListing(of: spool)
        var buffer = ByteBuffer()
        for (segment, entry) in listing.entries {
            let reader = try SegmentReader(opening: listing.path(of: segment, at: entry.place, in: spool))
            reading: while true {
                switch try reader.next(into: &buffer) {
                case .frame: for line in Lines(buffer.bytes) { mark(plan.number(inLine: line), Mark.pending) }
                case .end: break reading
                case .damaged, .tornTail: continue
                }
            }
        }
    }

    private func mark(_ number: Int?, _ mark: UInt8) {
        if let number { marks.bytes[number] |= mark }
    }

    /// Holds the damage that was done against the damage that quarantine tells of.
    mutating func compareDamage(_ strikes: [SegmentDamager.Strike]) {
        var struck: Set<SegmentName> = []
        for strike in strikes {
            struck.insert(strike.segment)
            let ranges = damagedRanges[strike.segment] ?? []
            guard ranges.contains(where: { $0.range.overlaps(strike.range) || $0.records > 0 }) else { continue }
            for number in strike.numbers { mark(number, Mark.damaged) }
        }
        for (segment, ranges) in damagedRanges where !struck.contains(segment) {
            let records = ranges.reduce(0) { $0 + $1.records }
            if records > 0 {
                problems.append("\(records) records of segment \(segment) are damaged, and nobody did it")
            }
        }
    }

    // MARK: The sum

    func tally(_ clients: SoakClients, _ record: SoakRecord) -> Tally {
        var tally = Tally()
        for batch in 0..<plan.batches {
            let state = clients.state(ofBatch: batch)
            if state == .unsent { continue }
            for number in batch * plan.batch..<(batch + 1) * plan.batch {
                let deliveries = record.deliveries(of: number)
                if deliveries > 1 {
                    tally.duplicated += 1
                    tally.repeats += deliveries - 1
                }
                if state == .acknowledged {
                    tally.acknowledged += 1
                    place(number, deliveries, in: &tally)
                } else if deliveries > 0 {
                    tally.unacknowledged += 1
                }
            }
        }
        return tally
    }

    private func place(_ number: Int, _ deliveries: Int, in tally: inout Tally) {
        let mark = marks.bytes[number]
        if deliveries > 0 {
            tally.delivered += 1
        } else if mark & Mark.quarantined != 0 {
            tally.quarantined += 1
        } else if mark & Mark.discarded != 0 {
            tally.discarded += 1
        } else if mark & Mark.pending != 0 {
            tally.pending += 1
        } else if mark & Mark.damaged != 0 {
            tally.damaged += 1
        } else if plan.kind(of: number) == .lowDurability {
            tally.expired += 1
        } else {
            tally.lost += 1
            if tally.lostExamples.count < 10 {
                let time = plan.occurredAt(number) - plan.startSeconds
                tally.lostExamples.append("\(plan.id(number)), posted about \(time) s after the start")
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// One line of the ledger, without its time.
package enum LedgerEvent: Hashable, Sendable {
    case sealed(SealedSegment)
    case finished(FinishedSegment)
    case moved(QuarantineMove)
    /// What a person at the desk did; counts for nothing.
    case audit(LedgerAudit)
    /// What older lines came to, when they were folded.
    case totals(LedgerTotals)
    case writer(WriterMark)

    /// A segment and how many records it holds.
    ///
    /// * `isExact`: the writer counted them; a claimant that only walked the frames' counts says false.
    package static func sealed(
        _ segment: SegmentName,
        records: Int,
        isExact: Bool = true,
        isReplay: Bool = false
    ) -> LedgerEvent {
        .sealed(SealedSegment(segment: segment, records: records, isExact: isExact, isReplay: isReplay))
    }

    /// A segment all of whose records are resolved; their sum is the number it was sealed with.
    package static func finished(_ segment: SegmentName, _ counts: OutcomeCounts, tornTails: Int = 0) -> LedgerEvent {
        .finished(FinishedSegment(segment: segment, counts: counts, tornTails: tornTails))
    }
}

extension LedgerEvent {
    /// The most records that a line about one segment may tell of: far more than fit into one, and few enough for the
    /// sum over every line of a ledger.
    private static let mostRecords = 1_000_000_000_000
    /// The same for each sum of lines that were folded, of which a ledger has one line.
    private static let mostInTotals = 100_000_000_000_000_000

    /// Whether its numbers can be added up without end; any others were not written by a program of ours.
    var canBeCounted: Bool {
        switch self {
        case .sealed(let line): line.records <= Self.mostRecords
        case .finished(let line):
            line.counts.all.allSatisfy { $0 <= Self.mostRecords } && line.tornTails <= Self.mostRecords
        case .moved(let move): move.taken <= Self.mostRecords && move.restRecords <= Self.mostRecords
        case .totals(let sums):
            (sums.counts.all + [
                sums.accepted, sums.tornTails, sums.segments, sums.takenFromQuarantine, sums.forgottenWriters,
                sums.keptBytes,
            ]).allSatisfy { $0 <= Self.mostInTotals }
        case .writer(let mark): mark.next < .max
        case .audit: true
        }
    }
}

package struct SealedSegment: Hashable, Sendable {
    package var segment: SegmentName
    package var records: Int
    /// Counted by the writer; else what the frames declare, and what became of them at the end is what counts.
    package var isExact: Bool
    /// Its records were accepted before, and come from quarantine.
    package var isReplay: Bool
}

package struct FinishedSegment: Hashable, Sendable {
    package var segment: SegmentName
    package var counts: OutcomeCounts
    /// Incomplete frames at the end, which nobody was told were taken.
    package var tornTails: Int
}

/// Records that leave a quarantine file, decided from the moment the line is in the ledger.
package struct QuarantineMove: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case replay, discard, erase
    }

    package var kind: Kind
    /// The quarantine file, which goes.
    package var source: SegmentName
    /// Records that leave quarantine, damaged ones included.
    package var taken: Int
    /// For a replay: the new segment that holds them.
    package var segment: SegmentName?
    /// The new quarantine file with what stays; nil when nothing does.
    package var rest: SegmentName?
    package var restRecords: Int
    /// The number of the user whose process decided it.
    package var userNumber: Int?

    package init(
        kind: Kind,
        source: SegmentName,
        taken: Int,
        segment: SegmentName?,
        rest: SegmentName?,
        restRecords: Int,
        userNumber: Int? = nil
    ) {
        self.userNumber = userNumber
        self.kind = kind
        self.source = source
        self.taken = taken
        self.segment = segment
        self.rest = rest
        self.restRecords = restRecords
    }
}

/// One command that changed something, for those who ask later who it was.
package struct LedgerAudit: Hashable, Sendable {
    /// Such as `replay`.
    package var action: String
    /// Records that it moved or removed.
    package var records: Int
    /// The number of the user who ran it.
    package var userNumber: Int
    /// The user's name, as far as this machine knows one.
    package var userName: String
    /// What was chosen, without the name of any person whose records these are.
    package var selection: String

    package init(action: String, records: Int, userNumber: Int, userName: String, selection: String) {
        self.action = action
        self.records = records
        self.userNumber = userNumber
        self.userName = userName
        self.selection = selection
    }
}

/// Sums of lines that were folded.
package struct LedgerTotals: Hashable, Sendable {
    /// Records of segments that are no replays.
    package var accepted = 0
    package var counts = OutcomeCounts()
    package var tornTails = 0
    /// Finished segments.
    package var segments = 0
    /// Records that left quarantine again.
    package var takenFromQuarantine = 0
    /// Writers whose sequence is no longer followed.
    package var forgottenWriters = 0
    /// Bytes of the ledger after it was folded.
    package var keptBytes = 0

    package init() {}
}

/// How far a writer's sequence has been seen, and what was not.
package struct WriterMark: Hashable, Sendable {
    package var writer: UInt64
    /// One past the highest sequence.
    package var next: UInt64
    /// When its last segment was begun.
    package var lastMilliseconds: Int
    package var missing = RangeSet<UInt64>()

    /// Notes one of the writer's segments.
    mutating func see(_ segment: SegmentName) {
        lastMilliseconds = max(lastMilliseconds, segment.millisecondsSince1970)
        if segment.sequence >= next {
            missing.insert(contentsOf: next..<segment.sequence)
            next = segment.sequence + 1
        } else {
            missing.remove(contentsOf: segment.sequence..<segment.sequence + 1)
        }
    }
}

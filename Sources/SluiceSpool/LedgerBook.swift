// SPDX-License-Identifier: Apache-2.0

/// What the lines of a ledger come to.
package struct LedgerBook: Sendable {
    /// Sums over everything that was read, finished or not.
    package private(set) var totals = LedgerTotals()
    /// Segments that were sealed and are not finished.
    package private(set) var open: [SegmentName: Sealed] = [:]
    /// Segments with a `finished` line that has not been folded.
    package private(set) var finished: Set<SegmentName> = []
    package private(set) var moves: [QuarantineMove] = []
    private var movedSources: Set<SegmentName> = []
    package private(set) var writers: [UInt64: WriterMark] = [:]
    /// Unix seconds of the newest line.
    package private(set) var newestAt = 0
    /// Segments whose records did not all come to an outcome, with what was expected and what came.
    package private(set) var mismatches: [SegmentName: (sealed: Int, finished: Int)] = [:]
    /// `finished` lines of segments that nobody sealed; they count for nothing.
    package private(set) var strays: Set<SegmentName> = []
    /// Lines that do not verify.
    package private(set) var invalidLines = 0
    package private(set) var firstInvalidOffset: Int?

    /// How far the ledger has been read.
    private enum Part { case beginning, marks, lines }
    private var part = Part.beginning

    package struct Sealed: Hashable, Sendable {
        package var records: Int
        package var isExact: Bool
        package var isReplay: Bool

        package init(records: Int, isExact: Bool, isReplay: Bool) {
            self.records = records
            self.isExact = isExact
            self.isReplay = isReplay
        }
    }

    package init() {}

    /// Records that should be in quarantine now, those of unfinished segments left aside.
    package var expectedInQuarantine: Int {
        totals.counts.quarantined + totals.counts.damaged - totals.takenFromQuarantine
    }

    mutating func noteInvalidLine(at offset: Int) {
        invalidLines += 1
        if firstInvalidOffset == nil { firstInvalidOffset = offset }
    }

    /// Takes a line.
    ///
    /// - Returns: false for sums and writers' marks that do not stand at the ledger's beginning, where folding puts them:
    ///   anywhere else they would count what was counted.
    @discardableResult
    mutating func take(_ event: LedgerEvent, at seconds: Int) -> Bool {
        switch (event, part) {
        case (.totals, .beginning), (.writer, .beginning), (.writer, .marks): part = .marks
        case (.totals, _), (.writer, _): return false
        default: part = .lines
        }
        newestAt = max(newestAt, seconds)
        switch event {
        case .sealed(let sealed): take(sealed)
        case .finished(let finished): take(finished)
        case .moved(let move): take(move)
        case .audit: break
        case .totals(let sums): take(sums)
        case .writer(let mark): writers[mark.writer] = mark
        }
        return true
    }

    private mutating func take(_ sealed: SealedSegment) {
        if !sealed.isReplay { see(sealed.segment) }
        guard open[sealed.segment] == nil, !finished.contains(sealed.segment) else { return }
        open[sealed.segment] = Sealed(
            records: sealed.records,
            isExact: sealed.isExact,
            isReplay: sealed.isReplay
        )
        if !sealed.isReplay { totals.accepted += sealed.records }
    }

    private mutating func take(_ line: FinishedSegment) {
        guard let sealed = open.removeValue(forKey: line.segment) else {
            if !finished.contains(line.segment) { strays.insert(line.segment) }
            return
        }
        finished.insert(line.segment)
        let total = line.counts.total
        if total != sealed.records {
            if sealed.isExact || sealed.isReplay {
                mismatches[line.segment] = (sealed.records, total)
            } else {
                totals.accepted += total - sealed.records
            }
        }
        totals.counts += line.counts
        totals.tornTails += line.tornTails
        totals.segments += 1
    }

    private mutating func take(_ move: QuarantineMove) {
        // Each file is taken apart once; what happens to its rest is another file's line.
        guard movedSources.insert(move.source).inserted else { return }
        moves.append(move)
        totals.takenFromQuarantine += move.taken
        switch move.kind {
        case .replay:
            guard let segment = move.segment else { return }
            take(SealedSegment(segment: segment, records: move.taken, isExact: true, isReplay: true))
        case .discard: totals.counts.discarded += move.taken
        case .erase: totals.counts.erased += move.taken
        }
    }

    private mutating func take(_ sums: LedgerTotals) {
        totals.accepted += sums.accepted
        totals.counts += sums.counts
        totals.tornTails += sums.tornTails
        totals.segments += sums.segments
        totals.takenFromQuarantine += sums.takenFromQuarantine
        totals.forgottenWriters += sums.forgottenWriters
        totals.keptBytes = sums.keptBytes
    }

    private mutating func see(_ segment: SegmentName) { Self.see(segment, in: &writers, totals: totals) }

    /// Notes a segment in its writer's mark; a writer that may have been forgotten begins where it is met again.
    static func see(_ segment: SegmentName, in writers: inout [UInt64: WriterMark], totals: LedgerTotals) {
        let first = totals.forgottenWriters > 0 ? segment.sequence : 0
        writers[
            segment.writer,
            default: WriterMark(writer: segment.writer, next: first, lastMilliseconds: 0)
        ].see(segment)
    }

    /// Each writer's segments that are neither in the ledger nor among `onDisk`.
    package func gaps(onDisk: some Sequence<SegmentName>) -> [WriterMark] {
        var marks = writers
        for segment in onDisk where open[segment] == nil && !finished.contains(segment) {
            Self.see(segment, in: &marks, totals: totals)
        }
        return marks.values.filter { !$0.missing.isEmpty }.sorted { $0.writer < $1.writer }
    }
}

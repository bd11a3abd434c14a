// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem

/// A relay in forty lines that delivers to nowhere: every place of the order at a segment's end is there, so that tests
/// can stop it at each.
struct SmallRelay {
    struct Stopped: Error {}

    let spool: SpoolFolder
    let ledger: Ledger
    let worker: Worker
    let clock: SystemClock
    /// Called between any two changes on disk; throws to end the relay as a kill would.
    var between: () throws -> Void = {}

    init(spool: SpoolFolder, clock: SystemClock = .system) throws {
        self.spool = spool
        self.clock = clock
        ledger = try Ledger(in: spool, clock: clock)
        worker = try Worker.start(in: spool, clock: clock)
    }

    /// Works one segment off; every seventh record is bad, every fifth a duplicate.
    ///
    /// - Returns: false when there was nothing to claim.
    func workOff() throws -> Bool {
        guard let claim = try worker.claimNext() else { return false }
        let segment = claim.segment
        try between()
        if try ledger.standing(of: segment) == .finished {
            try worker.remove(segment)
            return true
        }
        if try ledger.standing(of: segment) == .unknown {
            let records = try SegmentSummary(of: claim.path).totals.records
            try ledger.append([.sealed(segment, records: records, isExact: false)])
            try between()
        }
        let progress = try Progress(of: segment, in: spool)
        var resolved = progress.resolved
        let quarantine = try QuarantineWriter(
            for: segment,
            in: spool,
            readsExisting: claim.isAdopted || progress.isPresent,
            clock: clock
        )
        let reader = try SegmentReader(opening: claim.path)
        var buffer = ByteBuffer()
        while case .frame(let offset, _, _) = try reader.next(into: &buffer) {
            try workOff(buffer.bytes, at: offset, of: segment, progress, quarantine, &resolved)
        }
        try progress.sync()
        try quarantine.finish()
        try between()
        try ledger.append([.finished(segment, resolved.counts)])
        try between()
        try FileSystem.removeIfPresent(claim.path)
        try between()
        try worker.remove(segment)
        return true
    }

    private func workOff(
        _ lines: UnsafeRawBufferPointer,
        at offset: Int,
        of segment: SegmentName,
        _ progress: Progress,
        _ quarantine: QuarantineWriter,
        _ resolved: inout ResolvedRecords
    ) throws {
        for (index, line) in Lines(lines).enumerated() where resolved.outcome(frame: offset, index: index) == nil {
            let origin = RecordOrigin(segment: segment, frame: offset, index: index)
            var outcome: Outcome = index % 5 == 4 ? .duplicate : .delivered
            if index % 7 == 3 || quarantine.contains(origin) {
                outcome = .quarantined
                let entry = QuarantineEntry(quarantinedAt: 1, reason: "upstream_rejected", detail: "", origin: origin)
                quarantine.append(entry, record: line)
                try quarantine.sync()
                try between()
            }
            let run = ProgressEntry(frame: offset, first: index, outcome: outcome)
            try progress.append([run])
            resolved.insert(run)
            try between()
        }
    }
}

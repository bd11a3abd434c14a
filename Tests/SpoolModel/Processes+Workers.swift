// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

extension Processes {
    /// How a worker ends.
    enum WorkerEnd: CaseIterable {
        /// As by a kill: its claims stay in its folder, and its lock is free.
        case dies
        /// It puts its claims back.
        case closes
        /// It finishes its segments first.
        case finishes
        /// It finishes the first one, and is killed.
        case finishesOneAndDies
    }

    /// A worker that claims up to `claims` segments and resolves some of their records in every possible way, with the
    /// order of calls that the spool asks for.
    func work(claims: Int, end: WorkerEnd) throws {
        relayCount += 1
        let number = relayCount
        mark(.relayBegan(relay: number, maximumInFlight: 1 << 20, hasWindow: false))
        let ledger = try Ledger(in: spool, clock: clock.clock)
        let worker = try Worker.start(in: spool, clock: clock.clock)
        if random.oneIn(2) { try worker.adoptOrphans() }
        for place in 0..<claims {
            guard let claim = try worker.claimNext() else { break }
            let finishes = end == .finishes || (end == .finishesOneAndDies && place == 0)
            try work(on: claim, of: worker, number, ledger, finishes: finishes)
        }
        guard end == .closes || end == .finishes else { return mark(.relayDied(relay: number)) }
        try worker.close()
        // Its progress may be unsynced: others may still repeat it after a loss of power.
        mark(.relayDied(relay: number))
    }

    private func work(on claim: Claim, of worker: Worker, _ number: Int, _ ledger: Ledger, finishes: Bool) throws {
        let segment = claim.segment
        let standing = try ledger.standing(of: segment)
        if standing == .finished { return try worker.remove(segment) }
        let summary = try SegmentSummary(of: claim.path)
        if standing == .unknown {
            let sealed = LedgerEvent.sealed(
                segment,
                records: summary.totals.records,
                isExact: summary.hasFooter
            )
            try ledger.append([sealed])
        }
        let progress = try Progress(of: segment, in: spool)
        let quarantine = try QuarantineWriter(
            for: segment,
            in: spool,
            readsExisting: claim.isAdopted || progress.isPresent,
            clock: clock.clock
        )
        var resolved = progress.resolved
        var isWhole = summary.isWhole
        let reader = try SegmentReader(opening: claim.path)
        var buffer = ByteBuffer()
        reading: while true {
            switch try reader.next(into: &buffer) {
            case .frame(let offset, _, _):
                let lines = String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
                for (index, line) in lines.enumerated() where resolved.outcome(frame: offset, index: index) == nil {
                    let place = RecordOrigin(segment: segment, frame: offset, index: index)
                    guard finishes || random.below(4) > 0,
                        let outcome = resolve(line, at: place, number, quarantine)
                    else {
                        isWhole = false
                        continue
                    }
                    if outcome == .quarantined { try quarantine.sync() }
                    let run = ProgressEntry(frame: offset, first: index, outcome: outcome)
                    try progress.append([run])
                    resolved.insert(run)
                    mark(.noted(relay: number))
                    if random.oneIn(6) { try progress.sync() }
                }
            case .damaged, .tornTail: isWhole = false
            case .end: break reading
            }
        }
        try quarantine.finish()
        guard finishes && isWhole else { return }
        try ledger.append([.finished(segment, resolved.counts)])
        try worker.remove(segment)
    }

    /// What becomes of a record; nil when this worker leaves it alone.
    private func resolve(
        _ line: String,
        at place: RecordOrigin,
        _ number: Int,
        _ quarantine: QuarantineWriter
    ) -> Outcome? {
        // What was replayed has its origin in its line, which only a relay reads.
        guard !line.hasPrefix(#"{"origin""#), let serial = ModelRecord.serial(in: line), let record = records[serial]
        else { return nil }
        if quarantine.contains(place) { return .quarantined }
        switch (record.kind, random.below(8)) {
        case (.twin, _): return nil
        case (.plain, _) where records.hasTwins(record.event) || records.isErased(record.event): return nil
        case (.plain, 0...4):
            mark(.arrived(relay: number, serials: [serial], isTaken: true, isAnswered: true, at: 0))
            return .delivered
        case (.refused, 0...5), (.setAside, 0...5), (.expired, 0...5), (.malformed, 0...5):
            let entry = QuarantineEntry(
                quarantinedAt: clock.wallSeconds,
                reason: "upstream_rejected",
                detail: "model",
                origin: place
            )
            var text = line
            let isObject = record.kind != .malformed
            text.withUTF8 { _ = quarantine.append(entry, record: UnsafeRawBufferPointer($0), isObject: isObject) }
            return .quarantined
        default:
            mark(.mayVanish([serial]))
            return random.pick([.expired, .discarded, .erased])
        }
    }

    /// A writer that ends without sealing what it acknowledged.
    func writeAndDie(_ groups: [[ModelRecord]]) throws {
        let name = SegmentName(
            millisecondsSince1970: Int(clock.wallMilliseconds),
            writer: .random(in: .min ... .max),
            sequence: 0
        )
        let file = try SegmentFile(
            creating: name,
            in: spool.incoming,
            as: name.openFileName,
            createdAt: clock.wallSeconds
        )
        try file.show()
        try FileSystem.syncFolder(spool.incoming)
        for group in groups {
            try Self.withLines(of: group) {
                _ = try file.append($0, records: group.count, receivedAt: clock.wallSeconds...clock.wallSeconds)
            }
            try file.syncData()
            mark(.acknowledged(group.map(\.serial)))
        }
    }

    /// What a relay does first: segments of dead writers become ready.
    func recoverIncoming() throws { _ = try IncomingRecovery(in: spool, clock: clock.clock) }
}

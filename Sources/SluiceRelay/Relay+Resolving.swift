// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceJSON
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// Outcomes: noted, written down, and the end of a segment.
extension Relay {
    private static let finishRetry: Int64 = 1_000_000_000
    private static let foldRetry: Int64 = 60_000_000_000
    private static let syncInterval: Int64 = 1_000_000_000
    /// Entries that may wait in memory for room in quarantine, in bytes.
    private static let maximumWaitingBytes = 4 << 20

    /// Notes the outcome of records that were under way, neighbours at once.
    func settleAll(_ records: [RecordReference], _ outcome: Outcome) {
        if !suspects.isEmpty { forgetSuspects(records) }
        var first = 0
        while first < records.count {
            let start = records[first]
            var next = first + 1
            while next < records.count, records[next].slot == start.slot,
                records[next].frameOffset == start.frameOffset,
                Int(records[next].index) == Int(start.index) + next - first
            { next += 1 }
            resolve(start, outcome, count: next - first)
            first = next
        }
        for record in records { fingerprints.remove(record.fingerprint) }
        if !waiting.isEmpty { for record in records { decideRepeats(of: record, outcome) } }
    }

    /// Notes the outcome of a record that was under way, and decides the repeats that waited for it.
    func settleRecord(_ record: RecordReference, _ outcome: Outcome) { settleAll([record], outcome) }

    private func decideRepeats(of record: RecordReference, _ outcome: Outcome) {
        guard let repeats = waiting.removeValue(forKey: record.fingerprint) else { return }
        for other in repeats {
            if outcome == .delivered {
                resolve(other, other.origin == record.origin ? .delivered : .duplicate)
            } else {
                admitAgain(other)
            }
        }
    }

    /// Notes the outcome of a record and its followers in the same frame.
    func resolve(_ record: RecordReference, _ outcome: Outcome, count: Int = 1) {
        guard let segment = segments[Int(record.slot)] else { return }
        segment.note(outcome, frameOffset: record.frameOffset, index: Int(record.index), count: count)
        summary.counts[outcome] += count
        metrics.events[Int(outcome.rawValue)].increment(by: count)
        touch(segment)
    }

    func touch(_ segment: ClaimedSegment) {
        if segment.isTouched { return }
        segment.isTouched = true
        touched.append(segment)
    }

    /// Writes new outcomes down: bad records into quarantine, synced, and only then all into the progress files.
    ///
    /// What finds no room stays in memory for the next time.
    func saveProgress(_ now: Int64) {
        guard !touched.isEmpty else { return }
        let segments = touched
        touched.removeAll(keepingCapacity: true)
        var waitingBytes = 0
        for segment in segments {
            segment.isTouched = false
            if segment.isStranded {
                putBack(segment)
                continue
            }
            let isInQuarantine = syncQuarantine(of: segment, now)
            if segment.isDone && isInQuarantine {
                if !segment.isFinishing {
                    segment.isFinishing = true
                    finishing.append(segment)
                }
                nextFinishAt = min(nextFinishAt, now)
                continue
            }
            if !isInQuarantine {
                touch(segment)
                waitingBytes += segment.quarantine?.pendingBytes ?? 0
            }
            appendProgress(of: segment, withQuarantined: isInQuarantine)
        }
        isQuarantineStuck = waitingBytes >= Self.maximumWaitingBytes
    }

    private func syncQuarantine(of segment: ClaimedSegment, _ now: Int64) -> Bool {
        guard let quarantine = segment.quarantine, quarantine.hasPending else { return true }
        guard now >= nextQuarantineAt else { return false }
        do throws(SpoolError) {
            try quarantine.sync()
            worked(.quarantine)
            return true
        } catch {
            failed(.quarantine, error)
            nextQuarantineAt = now + Self.finishRetry
            return false
        }
    }

    private func appendProgress(of segment: ClaimedSegment, withQuarantined: Bool) {
        let entries = withQuarantined ? segment.unsaved : segment.unsaved.filter { $0.outcome != .quarantined }
        guard !entries.isEmpty else { return }
        do throws(SpoolError) {
            try segment.progress.append(entries)
            segment.unsaved.removeAll { withQuarantined || $0.outcome != .quarantined }
            worked(.progress)
        } catch {
            failed(.progress, error)
            if withQuarantined { touch(segment) }
        }
    }

    /// Makes progress durable once a second, so that a power loss repeats little.
    func syncProgress(_ now: Int64) {
        guard now >= nextSyncAt else { return }
        nextSyncAt = now == .max ? .max : now + Self.syncInterval
        var unsaved = 0
        for segment in segments {
            guard let segment else { continue }
            unsaved += segment.unsaved.count
            do throws(SpoolError) {
                try segment.progress.sync()
                worked(.progressSync)
            } catch {
                failed(.progressSync, error)
            }
        }
        metrics.unsavedProgress.record(unsaved)
    }

    /// Ends segments whose records are all resolved: quarantine synced, `finished` lines synced, files unlinked.
    func finishSegments(_ now: Int64) {
        guard !finishing.isEmpty, now >= nextFinishAt else { return }
        do throws(SpoolError) {
            for segment in finishing { try segment.quarantine?.finish() }
            try ledger.append(finishing.map { .finished($0.name, $0.counts, tornTails: $0.tornTails) })
            try considerSweep(after: finishing)
            for segment in finishing {
                try worker.remove(segment.name)
                drop(segment)
                summary.segments += 1
            }
            finishing.removeAll()
            worked(.finish)
            foldLedger(now)
        } catch {
            nextFinishAt = now + Self.finishRetry
            finishing.removeAll { segments[Int($0.slot)] !== $0 }
            // Should this run end before the ledger takes them, the next one sends nothing of them again.
            for segment in finishing { appendProgress(of: segment, withQuarantined: true) }
            failed(.finish, error)
        }
    }

    /// Folds a ledger that has grown large; what fails here costs room and nothing else.
    private func foldLedger(_ now: Int64) {
        guard now >= nextFoldAt else { return }
        do throws(SpoolError) {
            if try ledger.foldIfLarge() { worked(.folding) }
        } catch {
            // It is read as a whole each time.
            nextFoldAt = now + Self.foldRetry
            failed(.folding, error)
        }
    }

    // MARK: Quarantine

    /// Puts a record that was under way into quarantine, and notes that outcome.
    func quarantine(_ record: RecordReference, _ cause: QuarantineCause, attempts: Int) {
        if enter(record, cause, attempts: attempts) { return settleRecord(record, .quarantined) }
        // Equal ones that wait for it are themselves tried.
        fingerprints.remove(record.fingerprint)
        decideRepeats(of: record, .quarantined)
    }

    /// Puts a record that was never under way into quarantine, and notes that outcome.
    func refuse(_ record: RecordReference, _ cause: QuarantineCause) {
        if enter(record, cause, attempts: 0) { resolve(record, .quarantined) }
    }

    /// Enters a record into its segment's quarantine, where the next save makes it durable.
    ///
    /// - Returns: false when its line can't be read again.
    private func enter(_ record: RecordReference, _ cause: QuarantineCause, attempts: Int) -> Bool {
        guard let segment = segments[Int(record.slot)] else { return false }
        do throws(SpoolError) {
            let line = try recordLine(record, of: segment)
            let (origin, replays, isObject) = history(of: line, record)
            let entry = QuarantineEntry(
                quarantinedAt: clock.wallSeconds,
                reason: cause.reason,
                detail: cause.detail,
                status: cause.status,
                attempts: attempts,
                origin: origin,
                replays: replays
            )
            let writer = try quarantineWriter(of: segment)
            line.withUnsafeBytes { _ = writer.append(entry, record: $0, isObject: isObject) }
            worked(.record)
        } catch {
            strand(record, error)
            return false
        }
        return true
    }

    /// Where a record stands in its segment.
    func place(of record: RecordReference) -> RecordOrigin {
        guard let segment = segments[Int(record.slot)] else { preconditionFailure("a record of a dropped segment") }
        return RecordOrigin(segment: segment.name, frame: record.frameOffset, index: Int(record.index))
    }

    /// The record's first place and how often it was replayed, as its line says, and whether that is a JSON object.
    private func history(of line: [UInt8], _ record: RecordReference) -> (RecordOrigin, Int, Bool) {
        var padded = ByteBuffer(capacity: line.count)
        padded.append(line)
        // A line that is no record has no history.
        guard let document = try? quarantineParser.parse(padded.bytes), document[0].kind == .object else {
            return (place(of: record), 0, false)
        }
        guard let spooled = try? SpooledRecord(document), let origin = spooled.origin,
            let name = SegmentName(parsing: origin.segment)
        else { return (place(of: record), 0, true) }
        return (RecordOrigin(segment: name, frame: origin.frame, index: origin.index), spooled.replays, true)
    }

    func quarantineWriter(of segment: ClaimedSegment, readsExisting: Bool = false) throws(SpoolError)
        -> QuarantineWriter
    {
        if let writer = segment.quarantine { return writer }
        let writer = try QuarantineWriter(
            for: segment.name,
            in: folder,
            readsExisting: readsExisting,
            limitBytes: options.quarantineMaximumBytes,
            clock: clock
        )
        segment.quarantine = writer
        return writer
    }

    /// Enters what could not be read of a segment into quarantine, with its bytes.
    func accountForDamage(_ segment: ClaimedSegment, fileBytes: Int) throws(SpoolError) {
        guard let sealed = try sealedRecords(of: segment) else { return }
        // Quarantine must not rest on a count that a loss of power can still take away.
        if sealed.isExact { try ledger.sync() }
        segment.countUnread()
        let path = worker.path(of: segment.name)
        try segment.damage.saveBytes(from: path, of: segment.name, in: folder)
        let assessment = segment.damage.assess(
            segment: segment.name,
            sealedRecords: sealed.isExact ? sealed.records : nil,
            readableRecords: segment.counts.total + segment.unresolved,
            resolved: segment.resolvedEarlier,
            known: segment.quarantine?.earlierDamage ?? [:],
            fileBytes: fileBytes,
            at: clock.wallSeconds
        )
        let ranges = max(segment.damage.ranges.count, assessment.entries.count)
        guard ranges > 0 || assessment.damagedRecords > 0 else { return }
        if !assessment.entries.isEmpty {
            let writer = try quarantineWriter(of: segment)
            for entry in assessment.entries { writer.append(entry, record: nil) }
        }
        segment.tornTails = assessment.tornTails
        segment.counts.damaged += assessment.damagedRecords
        summary.counts.damaged += assessment.damagedRecords
        let metadata: Logger.Metadata = [
            "segment.name": .string(segment.name.text), "records": .integer(assessment.damagedRecords),
            "ranges": .integer(ranges),
        ]
        if assessment.damagedRecords > 0 || assessment.tornTails < ranges {
            summary.metDamage = true
            logger.error("Damage in a segment: what cannot be read is in quarantine", metadata: metadata)
        } else {
            logger.notice("Unfinished end of a segment set aside; nobody was told it was taken", metadata: metadata)
        }
    }

    /// What the ledger says was sealed, where that can matter; nil when all was read that the segment says it has.
    private func sealedRecords(of segment: ClaimedSegment) throws(SpoolError) -> (records: Int, isExact: Bool)? {
        if segment.damage.isEmpty && segment.hasFooter { return nil }
        guard case .sealed(let records, let isExact, _) = try ledger.standing(of: segment.name) else {
            return (0, false)
        }
        return (records, isExact)
    }

    // MARK: Records read again

    /// The line of a record, read again from its segment.
    private func recordLine(_ record: RecordReference, of segment: ClaimedSegment) throws(SpoolError) -> [UInt8] {
        let path = worker.path(of: segment.name)
        if frameCache?.segment != segment.name || frameCache?.frameOffset != record.frameOffset {
            frameCache = nil
            frameCache = try FrameCache(segment.name, path: path, frameOffset: record.frameOffset)
        }
        guard let line = frameCache?.line(Int(record.index)) else {
            throw SpoolError(
                .io,
                path: path,
                byteOffset: record.frameOffset,
                detail: "the frame holds other records than when it was first read"
            )
        }
        return line
    }

    /// Takes a record in once more that waited for an equal one which was not delivered.
    private func admitAgain(_ record: RecordReference) {
        guard let segment = segments[Int(record.slot)] else { return }
        do throws(SpoolError) {
            let line = try recordLine(record, of: segment)
            var padded = ByteBuffer(capacity: line.count)
            padded.append(line)
            stage(padded.bytes, slot: record.slot, frameOffset: record.frameOffset, index: Int(record.index))
            admitStaged(clock.monotonicNanoseconds())
        } catch {
            strand(record, error)
        }
    }

    /// Leaves a record without an outcome whose line can't be read a second time.
    ///
    /// Nothing is noted of it. When all others of its segment are resolved, the segment goes back to `ready/`: whoever
    /// claims it next reads it from the start, and finds the record or the damage.
    private func strand(_ record: RecordReference, _ error: SpoolError) {
        guard let segment = segments[Int(record.slot)] else { return }
        failed(.record, error)
        frameCache = nil
        summary.isWorkLeft = true
        segment.stranded += 1
        touch(segment)
    }

    /// Gives a segment back that has nothing left but records which can't be read again.
    private func putBack(_ segment: ClaimedSegment) {
        let isInQuarantine = syncQuarantine(of: segment, clock.monotonicNanoseconds())
        appendProgress(of: segment, withQuarantined: isInQuarantine)
        guard segment.unsaved.isEmpty else { return touch(segment) }
        do throws(SpoolError) {
            try segment.quarantine?.finish()
            try worker.setAside(segment.name, reason: .unreadable)
            drop(segment)
        } catch {
            failed(.record, error)
            touch(segment)
        }
    }
}

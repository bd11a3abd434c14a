// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceGraphJSON
internal import SluiceJSON
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// From claimed segments to groups of events.
extension Relay {
    /// Records that are taken in before answers are looked at again.
    private static let sliceRecords = 1024
    /// Records that are staged before they are looked up.
    private static let stagedRecords = 16

    /// Chunks that should wait ready, so that the client never runs dry.
    private var wantedChunks: Int { max(16, Int(destination.limit) * 2) }

    /// Those that have failed do not count: however many there are, others must come to be sent and to tell whether the
    /// road is open.
    private var hasEnoughChunks: Bool { queue.freshCount >= wantedChunks }

    var wantsRecords: Bool {
        !isStopping && !isQuarantineStuck && !hasEnoughChunks
            && pendingBytes < options.memoryBudgetBytes
    }

    /// Takes in some records.
    ///
    /// - Returns: whether there may be more to read at once.
    func read(_ now: Int64) throws(SpoolError) -> Bool {
        var budget = Self.sliceRecords
        defer { admitStaged(now) }
        while budget > 0 && wantsRecords {
            guard let cursor = reading else {
                if !interrupted.isEmpty && now >= nextInterruptedAt {
                    reading = interrupted.removeFirst()
                    continue
                }
                if try !claimNext(now) { return false }
                continue
            }
            budget -= 1
            do throws(SpoolError) {
                try step(cursor, now)
            } catch {
                try stopReading(cursor, error, now)
            }
        }
        return wantsRecords && reading != nil
    }

    /// A segment that cannot be read on is tried again in a while; what was read of it is resolved meanwhile.
    private func stopReading(_ cursor: SegmentCursor, _ error: SpoolError, _ now: Int64) throws(SpoolError) {
        if error.code == .lockLost { throw error }
        failed(.reading, error)
        reading = nil
        interrupted.append(cursor)
        nextInterruptedAt = now + 1_000_000_000
    }

    private func step(_ cursor: SegmentCursor, _ now: Int64) throws(SpoolError) {
        let segment = cursor.segment
        switch try cursor.next() {
        case .record(let line, let frameOffset, let index):
            if segment.wasBegun,
                let outcome = segment.progress.resolved.outcome(frame: frameOffset, index: index)
            {
                return segment.meet(outcome)
            }
            segment.unresolved += 1
            stage(line, slot: segment.slot, frameOffset: frameOffset, index: index)
            if staged.count >= Self.stagedRecords { admitStaged(now) }
        case .damaged(let offset, let length, let records):
            segment.damage.addDamage(offset: offset, length: length, declaredRecords: records)
        case .tornTail(let offset, let length):
            segment.damage.addTornTail(offset: offset, length: length)
        case .end(let footer):
            if let names = footer?.removedNames, !names.isEmpty { metrics.removedNames.withLock { $0.add(names) } }
            try accountForDamage(segment, fileBytes: cursor.fileBytes)
            worked(.reading)
            reading = nil
            segment.isRead = true
            touch(segment)
        }
    }

    /// A record whose event is made, before it is known whether it is a repeat.
    struct Staged {
        var record: RecordReference
        var key: Chunk.Key
        /// Where its text ends among those of the staged records.
        var textEnd: Int
    }

    /// Makes the event of one record; `admitStaged` puts it into a group.
    ///
    /// Records are staged some at a time, so that what the duplicate window knows of them is fetched meanwhile.
    func stage(_ line: UnsafeRawBufferPointer, slot: Int32, frameOffset: Int, index: Int) {
        var record = RecordReference(slot: slot, frameOffset: frameOffset, index: index)
        do {
            let spooled = try SpooledRecord(try parser.parse(line))
            let origin = origin(of: spooled, record)
            if meetInQuarantine(record, origin) { return }
            if isErased(spooled) { return resolve(record, .erased) }
            record.origin = origin.fingerprint
            if spooled.isQuarantined { return refuse(record, admissionCause(spooled)) }
            identify(spooled, &record)
            window?.prefetch(record.fingerprint)
            if record.expiresAt != 0 && isExpired(record.expiresAt) { return resolve(record, .expired) }
            record.timestamp = rounded(spooled.timestamp)
            let collection = number(of: spooled.document.text(spooled.document[spooled.collection]))
            let timestamp = options.bulk.needsEqualTimestamps ? record.timestamp : 0
            try transform.append(spooled, to: &stagedTexts)
            let key = Chunk.Key(collection: collection, timestamp: timestamp)
            staged.append(Staged(record: record, key: key, textEnd: stagedTexts.count))
        } catch {
            // What cannot be read has no other origin than its place.
            if meetInQuarantine(record, place(of: record)) { return }
            refuse(record, QuarantineCause(.invalidRecord, detail: "\(error)"))
        }
    }

    /// Notes the outcome of a record that was put into quarantine by a claim that ended before it could note so.
    ///
    /// - Returns: false when it is not there.
    private func meetInQuarantine(_ record: RecordReference, _ origin: RecordOrigin) -> Bool {
        guard let segment = segments[Int(record.slot)], segment.quarantine?.contains(origin) == true else {
            return false
        }
        segment.metInQuarantine += 1
        resolve(record, .quarantined)
        return true
    }

    /// Puts the staged events into groups, except repeats.
    func admitStaged(_ now: Int64) {
        var start = 0
        for item in staged {
            let text = UnsafeRawBufferPointer(rebasing: stagedTexts.bytes[start..<item.textEnd])
            start = item.textEnd
            if let outcome = known(item.record) {
                resolve(item.record, outcome)
            } else if fingerprints.insert(item.record.fingerprint) {
                group(item.record, item.key, text, now)
            } else {
                waiting[item.record.fingerprint, default: []].append(item.record)
            }
        }
        staged.removeAll(keepingCapacity: true)
        stagedTexts.removeAll()
    }

    private func group(_ record: RecordReference, _ key: Chunk.Key, _ text: UnsafeRawBufferPointer, _ now: Int64) {
        if let alone = suspectChunk(for: record, key, now) {
            alone.append(text, of: record)
            pendingBytes += alone.cost
            return queue.pushBack(alone)
        }
        var chunk = grouper.chunk(for: key, at: now)
        if chunk.count > 0, chunk.texts.count + text.count + chunk.count * 3 + 512 > options.maximumRequestBytes {
            dispatch(chunk)
            chunk = grouper.chunk(for: key, at: now)
        }
        if chunk.count == 0 { chunk.erasureGeneration = erasures.generation }
        let before = chunk.count == 0 ? 0 : chunk.cost
        chunk.append(text, of: record)
        pendingBytes += chunk.cost - before
        if chunk.count >= options.bulk.maximumEvents { dispatch(chunk) }
    }

    /// Hands an open chunk to the queue.
    private func dispatch(_ chunk: Chunk) {
        grouper.close(chunk)
        queue.pushBack(chunk)
    }

    /// Closes groups that have waited long enough, or whose memory is needed.
    func closeGroups(_ now: Int64) {
        let isShort = pendingBytes >= options.memoryBudgetBytes
        let isAllRead =
            reading == nil && (isStopping || wasReadyEmpty || isClaimingStuck || claimCount >= options.maximumClaims)
        while let oldest = grouper.oldestOpen, !hasEnoughChunks {
            let isDue = isDrain ? isAllRead : now - oldest.openedAt >= lingerNanoseconds
            guard isDue || isShort else { return }
            dispatch(oldest)
        }
    }

    // MARK: What a record is known by

    private func identify(_ spooled: borrowing SpooledRecord, _ record: inout RecordReference) {
        let document = spooled.document
        record.fingerprint = identity.fingerprint(of: spooled, seed: window?.seed ?? 0)
        record.eventHash = UInt32(truncatingIfNeeded: Checksum.xxh3(document.text(document[spooled.event])))
        if let seconds = spooled.expiresAt, seconds > 0 { record.expiresAt = UInt32(clamping: seconds) }
    }

    /// Where the record first stood, before any replay.
    private func origin(of spooled: borrowing SpooledRecord, _ record: RecordReference) -> RecordOrigin {
        if let origin = spooled.origin, let segment = SegmentName(parsing: origin.segment) {
            return RecordOrigin(segment: segment, frame: origin.frame, index: origin.index)
        }
        return place(of: record)
    }

    /// What the duplicate window says of a record; nil when it is new.
    private func known(_ record: RecordReference) -> Outcome? {
        switch window?.lookup(record.fingerprint, origin: record.origin) {
        case .sameOrigin: .delivered
        case .otherOrigin: .duplicate
        case .absent, nil: nil
        }
    }

    private func admissionCause(_ spooled: borrowing SpooledRecord) -> QuarantineCause {
        let document = spooled.document
        return QuarantineCause(
            reason: spooled.quarantineReason.map { document.string(document[$0]) } ?? "unknown",
            detail: spooled.quarantineDetail.map { document.string(document[$0]) } ?? ""
        )
    }

    func isExpired(_ expiresAt: UInt32) -> Bool { mayExpire && Int(expiresAt) <= clock.wallSeconds }

    private func rounded(_ timestamp: Int) -> Int {
        let width = options.timestampPrecision
        guard width > 1 else { return timestamp }
        let rest = timestamp % width
        return timestamp - (rest < 0 ? rest + width : rest)
    }

    /// The number of a collection's name.
    private func number(of name: UnsafeRawBufferPointer) -> Int32 {
        if lastCollection >= 0, collections[Int(lastCollection)].withUnsafeBytes({ $0.isEqual(to: name) }) {
            return lastCollection
        }
        let text = Array(name)
        if let known = collectionNumbers[text] {
            lastCollection = known
        } else {
            collections.append(text)
            lastCollection = Int32(collections.count - 1)
            collectionNumbers[text] = lastCollection
        }
        return lastCollection
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceJSON
package import SluiceSystem

/// How the books are read while everything moves.
///
/// The ledger is read, then the folders, then the rest of the ledger. A segment is taken from the place that was read
/// last: one that is finished by the second reading counts as the ledger says, whatever was found of it before, and
/// one that is open then still had its progress file when that was read. Only segments that the first reading knows
/// must be found on disk. What cannot be right is read again after a moment.
package struct SpoolStatusReading: Sendable {
    /// Microseconds before another attempt.
    private static let pause: UInt32 = 20_000

    private let spool: SpoolFolder
    private let clock: SystemClock
    private var ledger: LedgerReader
    private var throughput = Throughput()

    package init(of spool: SpoolFolder, clock: SystemClock = .system) {
        self.spool = spool
        self.clock = clock
        ledger = LedgerReader(path: spool.ledger)
    }

    /// Reads the books; a later call reads on in the ledger where this one stopped.
    ///
    /// * `attempts`: how often they are looked at before something that is missing is a problem.
    package mutating func read(attempts: Int = 6) throws(SpoolError) -> SpoolStatus {
        var attempt = 1
        while true {
            do throws(SpoolError) {
                let status = try readOnce()
                if status.balanced || attempt >= attempts { return status }
            } catch {
                // Something moved away between its name and its content.
                if error.errnoCode != ENOENT || attempt >= attempts { throw error }
            }
            attempt += 1
            usleep(Self.pause)
        }
    }

    /// What was appended to the ledger while the folders were read.
    private struct Meanwhile {
        /// Writers in the names of quarantine files that may not have been complete; those of segments without a line too.
        var claims: Set<UInt64> = []
        var quarantined = 0
        var moves = 0
    }

    private mutating func readOnce() throws(SpoolError) -> SpoolStatus {
        try refresh { _ in }
        let before = ledger.book
        let restarts = ledger.restarts
        let listing = try spoolCall { () throws(SystemError) in try SpoolListing(of: spool) }
        let unsealed = try readUnsealed(listing, before)
        let progress = try readProgress()
        let quarantine = try readQuarantine(before)
        var meanwhile = Meanwhile()
        try refresh { event in
            switch event {
            case .sealed(let line): meanwhile.claims.insert(line.segment.quarantineWriter)
            case .finished(let line):
                if before.open[line.segment] != nil || !before.finished.contains(line.segment) {
                    meanwhile.quarantined += line.counts.quarantined + line.counts.damaged
                }
            case .moved: meanwhile.moves += 1
            case .totals, .writer, .audit: break
            }
        }
        let after = ledger.book
        var status = SpoolStatus()
        if ledger.restarts != restarts || meanwhile.moves > 0 {
            status.problems.append("the ledger was folded, or records left quarantine, each time it was read")
            return status
        }
        status.takenAtMilliseconds = clock.wallMilliseconds()
        status.counts = after.totals.counts
        status.counts.quarantined = 0
        status.counts.damaged = 0
        status.accepted = after.totals.accepted
        status.tornTails = after.totals.tornTails
        var oldest: SegmentName?
        status.notes += progress.notes
        addOpen(after, before: before, listing, progress.counts, &status, &oldest)
        addUnsealed(unsealed, after, &status, &oldest)
        for segment in unsealed.keys { meanwhile.claims.insert(segment.quarantineWriter) }
        addQuarantine(quarantine, before, meanwhile, &status)
        addPlaces(listing, after, quarantine, &status)
        if let oldest {
            let age = status.takenAtMilliseconds / 1000 - Int64(oldest.millisecondsSince1970 / 1000)
            status.oldestRecordAgeSeconds = max(0, Int(age))
        }
        addProblems(after, unsealed, listing, &status)
        status.throughput = throughput
        status.gate = GateFile(in: spool).current()
        return status
    }

    private mutating func refresh(_ visit: (LedgerEvent) -> Void) throws(SpoolError) {
        let restarts = ledger.restarts
        var more = Throughput()
        try spoolCall { () throws(SystemError) in
            try ledger.refresh { event, seconds in
                visit(event)
                switch event {
                case .sealed(let line) where !line.isReplay: more.add(accepted: line.records, at: seconds)
                case .finished(let line): more.add(delivered: line.counts.delivered, at: seconds)
                default: break
                }
            }
        }
        if ledger.restarts == restarts { throughput.add(more) } else { throughput.keep(more) }
    }

    // MARK: Reading

    private struct Unsealed {
        var records = 0
        /// Why its records are not known.
        var fault: String?
    }

    /// Segments on disk that the ledger does not know: being written, or left by a writer that was killed.
    private func readUnsealed(
        _ listing: SpoolListing,
        _ book: LedgerBook
    ) throws(SpoolError) -> [SegmentName: Unsealed] {
        var result: [SegmentName: Unsealed] = [:]
        for (segment, entry) in listing.entries where book.open[segment] == nil && !book.finished.contains(segment) {
            do throws(SpoolError) {
                let path = listing.path(of: segment, at: entry.place, in: spool)
                result[segment] = Unsealed(records: try SegmentSummary(of: path).totals.records)
            } catch {
                if error.errnoCode == ENOENT { throw error }
                result[segment] = Unsealed(fault: error.description)
            }
        }
        return result
    }

    private struct ProgressContent {
        var counts: [SegmentName: OutcomeCounts] = [:]
        /// What could not be read, in words.
        var notes: [String] = []
    }

    private func readProgress() throws(SpoolError) -> ProgressContent {
        var segments: [SegmentName] = []
        try spoolCall { () throws(SystemError) in
            try FileSystem.forEachName(in: spool.progress) { name in
                if let segment = SegmentName(bytes: name) { segments.append(segment) }
            }
        }
        var content = ProgressContent()
        for segment in segments {
            do throws(SpoolError) {
                content.counts[segment] = try Progress.resolved(of: segment, in: spool).counts
            } catch {
                // Nothing of such a segment counts as resolved.
                content.notes.append("progress not counted: \(error)")
            }
        }
        return content
    }

    private struct QuarantineContent {
        /// Records of each file whose origin no earlier file has, and those of them that are damaged.
        var files: [(writer: UInt64, records: Int, damaged: Int, bytes: Int)] = []
        var reasons: [String: Int] = [:]
        /// What could not be read, in words.
        var notes: [String] = []
    }

    private func readQuarantine(_ book: LedgerBook) throws(SpoolError) -> QuarantineContent {
        let folder = QuarantineFolder(of: spool)
        let parser = JSONParser(maximumBytes: SegmentReader.maximumContentBytes, maximumDepth: 256)
        var content = QuarantineContent()
        var seen: Set<RecordOrigin> = []
        let (files, ignored) = try folder.listing(book)
        content.notes = ignored.map(\.description)
        for file in files {
            var (records, damaged) = (0, 0)
            do throws(SpoolError) {
                let reading = try folder.read(file, parser: parser) { (item) throws(SpoolError) in
                    guard seen.insert(item.origin).inserted else { return }
                    records += item.records
                    if item.recordToken == nil, item.entry.damage != nil { damaged += item.records }
                    if item.records > 0 { content.reasons[item.reason, default: 0] += item.records }
                }
                if !reading.isWhole { content.notes.append("\(file.path): parts of it cannot be read") }
            } catch {
                if error.errnoCode == ENOENT { throw error }
                content.notes.append("records not counted: \(error)")
            }
            let bytes = try spoolCall { () throws(SystemError) in try FileStatus(of: file.path).size }
            content.files.append((file.name.writer, records, damaged, bytes))
        }
        return content
    }

    // MARK: Adding up

    private func addOpen(
        _ book: LedgerBook,
        before: LedgerBook,
        _ listing: SpoolListing,
        _ progress: [SegmentName: OutcomeCounts],
        _ status: inout SpoolStatus,
        _ oldest: inout SegmentName?
    ) {
        var missing: [(segment: SegmentName, records: Int)] = []
        for (segment, sealed) in book.open {
            let resolved = progress[segment] ?? OutcomeCounts()
            status.counts.delivered += resolved.delivered
            status.counts.duplicate += resolved.duplicate
            status.counts.expired += resolved.expired
            status.counts.discarded += resolved.discarded
            status.counts.erased += resolved.erased
            status.quarantined += resolved.quarantined
            let pending = sealed.records - resolved.total
            if pending < 0 {
                if sealed.isExact {
                    status.problems.append(
                        "segment \(segment) was sealed with \(sealed.records) records, and \(resolved.total) are resolved"
                    )
                } else {
                    status.accepted -= pending
                }
            }
            status.pending += max(0, pending)
            if pending > 0 { oldest = min(oldest ?? segment, segment) }
            if before.open[segment] != nil, listing.entries[segment] == nil, !isHidden(segment, sealed) {
                missing.append((segment, sealed.records))
            }
        }
        for (segment, records) in missing.sorted(by: { $0.segment < $1.segment }) {
            status.problems.append(
                "segment \(segment) was sealed with \(records) records and is neither in the spool nor finished"
            )
        }
    }

    /// Whether it is a replay that was interrupted before its segment was in place.
    private func isHidden(_ segment: SegmentName, _ sealed: LedgerBook.Sealed) -> Bool {
        sealed.isReplay && (try? FileStatus(of: "\(spool.quarantine)/\(segment.hiddenFileName)")) != nil  // not there
    }

    private func addUnsealed(
        _ unsealed: [SegmentName: Unsealed],
        _ book: LedgerBook,
        _ status: inout SpoolStatus,
        _ oldest: inout SegmentName?
    ) {
        for (segment, found) in unsealed where book.open[segment] == nil && !book.finished.contains(segment) {
            status.accepted += found.records
            status.pending += found.records
            if found.records > 0 { oldest = min(oldest ?? segment, segment) }
            if let fault = found.fault { status.notes.append("records not counted: \(fault)") }
        }
    }

    private func addQuarantine(
        _ content: QuarantineContent,
        _ before: LedgerBook,
        _ meanwhile: Meanwhile,
        _ status: inout SpoolStatus
    ) {
        let unfinished = Set(before.open.keys.map(\.quarantineWriter)).union(meanwhile.claims)
        var counted = 0
        for file in content.files where !unfinished.contains(file.writer) {
            counted += file.records
            status.damaged += file.damaged
        }
        if counted != before.expectedInQuarantine {
            status.problems.append(
                "quarantine holds \(counted) records of finished segments, the ledger says \(before.expectedInQuarantine)"
            )
        }
        status.quarantined += counted + meanwhile.quarantined
        status.quarantineReasons = content.reasons
        status.notes += content.notes
    }

    private func addPlaces(
        _ listing: SpoolListing,
        _ book: LedgerBook,
        _ content: QuarantineContent,
        _ status: inout SpoolStatus
    ) {
        for (segment, entry) in listing.entries where !book.finished.contains(segment) {
            switch entry.place {
            case .incoming:
                status.segments.open += 1
                status.bytes.open += entry.bytes
            case .ready:
                status.segments.ready += 1
                status.bytes.ready += entry.bytes
            case .claimed:
                status.segments.claimed += 1
                status.bytes.claimed += entry.bytes
            }
        }
        status.segments.quarantine = content.files.count
        status.bytes.quarantine = content.files.reduce(0) { $0 + $1.bytes }
        status.ignoredFiles = listing.ignoredCount
        for file in listing.ignored.prefix(20) { status.notes.append(file.description) }
        if listing.ignoredCount > 20 { status.notes.append("\(listing.ignoredCount - 20) more names were left alone") }
    }

    private func addProblems(
        _ book: LedgerBook,
        _ unsealed: [SegmentName: Unsealed],
        _ listing: SpoolListing,
        _ status: inout SpoolStatus
    ) {
        for (segment, mismatch) in book.mismatches.sorted(by: { $0.key < $1.key }) {
            status.problems.append(
                "segment \(segment) was sealed with \(mismatch.sealed) records and finished with \(mismatch.finished)"
            )
        }
        for mark in book.gaps(onDisk: unsealed.keys) {
            let missing = mark.missing.ranges.prefix(10).map { range in
                range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound - 1)"
            }
            status.problems.append(
                "writer \(SegmentName.writerText(mark.writer)): segments number \(missing.joined(separator: ", ")) are missing"
            )
        }
        if status.accepted != status.accountedFor {
            status.problems.append("accepted \(status.accepted) differs from the sum \(status.accountedFor)")
        }
        if book.invalidLines > 0 {
            status.notes.append(
                "\(spool.ledger): \(book.invalidLines) lines do not verify, the first at byte \(book.firstInvalidOffset ?? 0)"
            )
        }
        for segment in book.strays.sorted() {
            status.notes.append("segment \(segment) is finished in the ledger and was never sealed; it does not count")
        }
    }
}

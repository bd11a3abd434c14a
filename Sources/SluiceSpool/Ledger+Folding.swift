// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

extension Ledger {
    /// Seconds for which finished segments keep their lines, so that rates can be told.
    package static let rateSeconds = 300
    /// The newest audit lines, which outlast the folding.
    private static let keptAudits = 1000
    /// Seconds after which a writer that left nothing open is no longer followed.
    private static let forgetsWritersAfter = 172_800

    /// Folds old lines into totals when the ledger has grown beyond its limit and doubled since the last time.
    ///
    /// Kept are the lines of what is open: segments that are not finished, finished ones whose file is still there,
    /// quarantine files that are not taken apart to the end, gaps in the writers' sequences.
    ///
    /// - Returns: whether it was folded.
    @discardableResult
    package func foldIfLarge() throws(SpoolError) -> Bool {
        try spoolCall { () throws(SystemError) in
            let size: Int
            do throws(SystemError) {
                size = try FileStatus(of: spool.ledger).size
            } catch {
                if error.errno == ENOENT { return false }
                throw error
            }
            guard size > foldingBytes else { return false }
            let file = try File(opening: spool.ledger, O_RDWR)
            guard try file.tryLock(), file.isStillAtItsPath() else { return false }
            return try fold(size: size)
        }
    }

    /// Folds while the caller holds the lock.
    private func fold(size: Int) throws(SystemError) -> Bool {
        var reader = LedgerReader(path: spool.ledger)
        var events: [(event: LedgerEvent, at: Int)] = []
        try reader.refresh { events.append(($0, $1)) }
        let book = reader.book
        guard size > 2 * book.totals.keptBytes else { return false }
        try makeRemovalsDurable()
        let keep = try kept(of: book, events)
        // Only who holds the lock makes such a file; what is there was left by a crash.
        try spool.removeHidden("ledger")
        let hidden = spool.hidden("ledger")
        do throws(SystemError) {
            let file = try File(opening: hidden, O_WRONLY | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode)
            try write(events, keeping: keep, book: book, to: file)
            try file.sync()
            try FileSystem.replace(spool.ledger, with: hidden)
            try FileSystem.syncFolder(spool.root)
        } catch {
            _ = try? FileSystem.removeIfPresent(hidden)  // the first fault is the one to report
            throw error
        }
        return true
    }

    /// A removal that a loss of power undoes would leave a segment without its `finished` line.
    private func makeRemovalsDurable() throws(SystemError) {
        for worker in try FileSystem.names(in: spool.claimed) {
            do throws(SystemError) {
                try FileSystem.syncFolder("\(spool.claimed)/\(worker)")
            } catch {
                // Gone meanwhile, which the next sync makes durable, or no worker's folder.
                guard [ENOENT, ENOTDIR, ELOOP, EACCES].contains(error.errno) else { throw error }
            }
        }
        for folder in [spool.claimed, spool.ready, spool.incoming, spool.quarantine] {
            try FileSystem.syncFolder(folder)
        }
    }

    private struct Kept {
        var segments: Set<SegmentName>
        var moves: Set<SegmentName>
    }

    private func kept(of book: LedgerBook, _ events: [(event: LedgerEvent, at: Int)]) throws(SystemError) -> Kept {
        let onDisk = try SpoolListing(of: spool).entries
        var segments = Set(book.open.keys)
        segments.formUnion(book.mismatches.keys)
        for segment in book.finished where onDisk[segment] != nil { segments.insert(segment) }
        let recent = clock.wallSeconds - Self.rateSeconds
        for (event, seconds) in events where seconds > recent {
            if case .finished(let line) = event { segments.insert(line.segment) }
        }
        // A quarantine file that is still there, or whose successors are not in place, is not done with.
        let names = Set(try FileSystem.names(in: spool.quarantine))
        var moves: Set<SegmentName> = []
        for move in book.moves {
            let parts =
                [move.source.sealedFileName] + [move.segment, move.rest].compactMap { $0 }.map(\.hiddenFileName)
            guard parts.contains(where: names.contains) else { continue }
            moves.insert(move.source)
            if let segment = move.segment { segments.insert(segment) }
        }
        return Kept(segments: segments, moves: moves)
    }

    private func write(
        _ events: [(event: LedgerEvent, at: Int)],
        keeping keep: Kept,
        book: LedgerBook,
        to file: borrowing File
    ) throws(SystemError) {
        let now = clock.wallSeconds
        var lines = ByteBuffer(capacity: 1 << 20)
        var folded = LedgerBook()
        var oldAudits = -Self.keptAudits
        for (event, _) in events { if case .audit = event { oldAudits += 1 } }
        for (event, seconds) in events {
            switch event {
            case .audit:
                if oldAudits <= 0 { LedgerText.append(event, at: seconds, to: &lines) }
                oldAudits -= 1
            case .sealed(let line):
                if keep.segments.contains(line.segment) {
                    LedgerText.append(event, at: seconds, to: &lines)
                } else {
                    folded.take(event, at: seconds)
                }
            case .finished(let line):
                if keep.segments.contains(line.segment) {
                    LedgerText.append(event, at: seconds, to: &lines)
                } else {
                    folded.take(event, at: seconds)
                }
            case .moved(let move):
                if keep.moves.contains(move.source) {
                    LedgerText.append(event, at: seconds, to: &lines)
                } else {
                    folded.take(event, at: seconds)
                    // The segment that it made goes on by itself.
                    if let segment = move.segment, keep.segments.contains(segment) {
                        let sealed = LedgerEvent.sealed(segment, records: move.taken, isReplay: true)
                        LedgerText.append(sealed, at: seconds, to: &lines)
                    }
                }
            case .totals: folded.take(event, at: seconds)
            case .writer: break
            }
        }
        var head = ByteBuffer(capacity: 4096)
        var totals = folded.totals
        let forgetBefore = (now - Self.forgetsWritersAfter) * 1000
        let openWriters = Set(book.open.keys.map(\.writer))
        for mark in book.writers.values.sorted(by: { $0.writer < $1.writer }) {
            if mark.missing.isEmpty, mark.lastMilliseconds < forgetBefore, !openWriters.contains(mark.writer) {
                totals.forgottenWriters += 1
            } else {
                LedgerText.append(.writer(mark), at: now, to: &head)
            }
        }
        var first = ByteBuffer(capacity: 1024)
        totals.keptBytes = lines.count + head.count
        LedgerText.append(.totals(totals), at: book.newestAt, to: &first)
        try file.write(first.bytes)
        try file.write(head.bytes)
        try file.write(lines.bytes)
    }
}

extension SegmentName {
    /// The file name of a sealed segment before it is in place.
    var hiddenFileName: String { Self.newPrefix + sealedFileName }
}

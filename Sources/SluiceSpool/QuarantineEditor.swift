// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceJSON
package import SluiceSystem

/// Takes records out of quarantine: puts them back for delivery, discards or erases them.
///
/// One file after the other, and for each of them:
/// 1. the file's lock is taken; one that a relay still writes, or whose segment is not finished, is left alone;
/// 2. the chosen records are written to `.new-<segment>`, what stays to `.new-<rest>`, both synced with the folder;
/// 3. one ledger line names all three and is synced: from here on the two new files are what counts;
/// 4. the new files are moved into place, the folders synced, and the old file is removed.
///
/// Whoever comes after a crash finds the line and does step 4 first. Before the line the new files mean nothing.
package struct QuarantineEditor {
    /// What becomes of an entry.
    package enum Decision: Hashable, Sendable {
        /// It was not meant, and stays.
        case leave
        /// It was meant, and would fail again: it stays.
        case failsAgain
        /// It leaves quarantine.
        case take
        /// So many of its records leave, and these entries, whole lines, stand for the rest; for an erasure.
        case rewrite(taken: Int, lines: [UInt8])
    }

    /// Where the editor stands, for tests that interrupt it.
    package enum Step: Hashable, Sendable, CaseIterable {
        case fileLocked, chosenWritten, restWritten, folderSynced, lineWritten, segmentMoved, restMoved, sourceRemoved
    }

    package struct Report: Hashable, Sendable {
        /// Records that left quarantine, or would.
        package var taken = 0
        /// Records that were meant and stay, since they would fail again.
        package var failsAgain = 0
        /// Records that stay since they were not meant.
        package var left = 0
        /// Moves of an earlier run that were completed first.
        package var completed = 0
        /// Files that were taken apart, and the segments that were made.
        package var files = 0
        package var segments: [SegmentName] = []
        package var moves: [QuarantineMove] = []
        /// Files that were looked through and of which nothing goes.
        package var unchangedFiles: [SegmentName] = []
        /// Files that a relay is still busy with.
        package var busyFiles: [SegmentName] = []
        /// Files that cannot be read in full and were left as they are.
        package var damagedFiles: [SegmentName] = []
        /// Second entries of a record that an earlier file held as well; they go with it.
        package var repeated = 0

        package init() {}
    }

    let spool: SpoolFolder
    let ledger: Ledger
    let clock: SystemClock
    let atStep: (Step) throws(SpoolError) -> Void

    /// * `atStep`: called after each step; what it throws ends the run there.
    package init(
        in spool: SpoolFolder,
        ledger: Ledger,
        clock: SystemClock = .system,
        atStep: @escaping (Step) throws(SpoolError) -> Void = { (_: Step) throws(SpoolError) in }
    ) {
        self.spool = spool
        self.ledger = ledger
        self.clock = clock
        self.atStep = atStep
    }

    /// Goes through quarantine.
    ///
    /// * `files`: only these; nil is all of them.
    /// * `isDryRun`: decides and counts, and changes nothing; an interrupted run is not completed either.
    /// * `stopsAfter`: begins no other file once so many records are taken, and leaves what is behind them in the file.
    /// * `decide`: what becomes of an entry. Of a record for replay it may leave another form in the buffer, a JSON
    ///   object without `origin` and `replays`; when the buffer stays empty, the record goes as it is. Damaged ranges
    ///   cannot be replayed: `take` leaves them.
    ///
    /// Throws `locked` when somebody else edits quarantine at this time.
    package func run(
        _ kind: QuarantineMove.Kind,
        files: Set<SegmentName>? = nil,
        isDryRun: Bool = false,
        stopsAfter: Int = .max,
        decide: (QuarantineItem, inout ByteBuffer) throws(SpoolError) -> Decision
    ) throws(SpoolError) -> Report {
        let lock = try exclusiveLock()
        defer { try? lock.file.unlock() }  // closing would do it as well
        var report = Report()
        if !isDryRun { report.completed = try completeMoves() }
        let folder = QuarantineFolder(of: spool)
        // The names first, then the ledger: a file whose segment is finished there is complete.
        let book = try ledger.book()
        let found = try folder.files(book)
        let unfinished = try unfinishedClaims()
        var seen: Set<RecordOrigin> = []
        var taken = 0
        let parser = JSONParser(maximumBytes: SegmentReader.maximumContentBytes, maximumDepth: 256)
        for file in found where files?.contains(file.name) ?? true {
            if taken >= stopsAfter { break }
            guard !unfinished.contains(file.name.writer), let held = try hold(file) else {
                report.busyFiles.append(file.name)
                continue
            }
            try atStep(.fileLocked)
            let edit = QuarantineEdit(self, kind: kind, file: file, isDryRun: isDryRun, parser: parser)
            try edit.run(seen: &seen, report: &report) { (item, form: inout ByteBuffer) throws(SpoolError) in
                guard taken < stopsAfter else { return .leave }
                let decision = try decide(item, &form)
                if decision == .take { taken += item.records }
                return decision
            }
            _ = held
        }
        // An erasure may have been interrupted before its bytes went.
        if !isDryRun && (kind == .erase || kind == .discard && report.taken > 0) {
            try removeUnneededBytes(parser: parser)
        }
        return report
    }

    /// The writers in the names of quarantine files whose segment is not finished: sealed as far as the ledger goes, or
    /// on disk without a line, as after a loss of power.
    private func unfinishedClaims() throws(SpoolError) -> Set<UInt64> {
        let listing = try spoolCall { () throws(SystemError) in try SpoolListing(of: spool) }
        let book = try ledger.book()
        var writers = Set(book.open.keys.map(\.quarantineWriter))
        for segment in listing.entries.keys where !book.finished.contains(segment) {
            writers.insert(segment.quarantineWriter)
        }
        return writers
    }

    /// Completes what an interrupted run had decided.
    ///
    /// - Returns: how many moves; 0 also when somebody else edits quarantine at this time.
    @discardableResult
    package func completeInterrupted() throws(SpoolError) -> Int {
        do throws(SpoolError) {
            let lock = try exclusiveLock()
            defer { try? lock.file.unlock() }  // closing would do it as well
            return try completeMoves()
        } catch {
            if error.code == .locked { return 0 }
            throw error
        }
    }

    /// One editor at a time; the file stays.
    private func exclusiveLock() throws(SpoolError) -> FileHolder {
        let path = "\(spool.quarantine)/\(QuarantineFolder.lockName)"
        let holder = try spoolCall { () throws(SystemError) in try Self.openOrMake(path) }
        guard try spoolCall({ () throws(SystemError) in try holder.file.tryLock() }) else {
            throw SpoolError(.locked, path: path, detail: "a replay, discard or erase is running; try again later")
        }
        return holder
    }

    private static func openOrMake(_ path: String) throws(SystemError) -> FileHolder {
        do throws(SystemError) {
            return FileHolder(try File(opening: path, O_RDWR | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode))
        } catch {
            guard error.errno == EEXIST else { throw error }
            return FileHolder(try File(opening: path, O_RDWR))
        }
    }

    /// The file with its lock; nil when it is locked or gone.
    private func hold(_ file: QuarantineFolder.File) throws(SpoolError) -> FileHolder? {
        do throws(SystemError) {
            let holder = FileHolder(try File(opening: file.path, O_RDWR))
            guard try holder.file.tryLock(), holder.file.isStillAtItsPath() else { return nil }
            return holder
        } catch {
            if error.errno == ENOENT { return nil }
            throw SpoolError(error)
        }
    }

    // MARK: Completing

    private func completeMoves() throws(SpoolError) -> Int {
        let book = try ledger.book()
        let names = Set(try spoolCall { () throws(SystemError) in try FileSystem.names(in: spool.quarantine) })
        var count = 0
        for move in book.moves {
            let hidden = [move.segment, move.rest].compactMap { $0?.hiddenFileName }
            guard ([move.source.sealedFileName] + hidden).contains(where: names.contains) else { continue }
            // Perhaps the line could be written and not be synced; moves are counted once.
            try ledger.append([.moved(move)])
            try complete(move)
            count += 1
        }
        try spoolCall { () throws(SystemError) in try removeLeftovers() }
        return count
    }

    /// Step 4 of a move, as much of it as is still to be done.
    func complete(
        _ move: QuarantineMove,
        _ atStep: (Step) throws(SpoolError) -> Void = { (_: Step) throws(SpoolError) in }
    ) throws(SpoolError) {
        if let segment = move.segment {
            try spoolCall { () throws(SystemError) in
                try moveIfPresent("\(spool.quarantine)/\(segment.hiddenFileName)", to: spool.ready(segment))
                try FileSystem.syncFolder(spool.ready)
            }
        }
        try atStep(.segmentMoved)
        if let rest = move.rest {
            try spoolCall { () throws(SystemError) in
                try moveIfPresent("\(spool.quarantine)/\(rest.hiddenFileName)", to: spool.quarantine(rest))
                try FileSystem.syncFolder(spool.quarantine)
            }
        }
        try atStep(.restMoved)
        try spoolCall { () throws(SystemError) in
            try FileSystem.removeIfPresent(spool.quarantine(move.source))
            try FileSystem.syncFolder(spool.quarantine)
        }
        try atStep(.sourceRemoved)
    }

    private func moveIfPresent(_ source: String, to target: String) throws(SystemError) {
        do throws(SystemError) {
            try FileSystem.move(source, to: target)
        } catch {
            if error.errno != ENOENT { throw error }
        }
    }

    /// Removes `.new-` files of runs that were interrupted before their line, and of relays that were killed.
    private func removeLeftovers() throws(SystemError) {
        let limit = clock.wallSeconds - 60
        for name in try FileSystem.names(in: spool.quarantine) where name.utf8.starts(with: SegmentName.newPrefix.utf8)
        {
            let path = "\(spool.quarantine)/\(name)"
            guard let status = try? FileStatus(of: path), status.isRegularFile, status.modifiedAt < limit else {
                continue  // gone, or perhaps not yet locked
            }
            let file = try File(opening: path, O_RDWR)
            if try file.tryLock(), file.isStillAtItsPath() { try FileSystem.removeIfPresent(path) }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// The file `erased`: whose records the relays drop instead of sending them.
///
/// Whoever adds or removes lines puts a whole new file in place, under an exclusive `flock(2)` on the old one, so
/// everyone who takes the lock makes sure first that the path still names its file. Readers look at the path's status,
/// one system call, and read the file again when it changed. An object belongs to one thread.
package final class ErasureList {
    /// Most persons that are listed at once.
    package static let maximumEntries = 100_000
    /// Seconds for which an entry stays at least, so that a copy of the spool that is put back brings nobody back.
    package static let keptSeconds = 30 * 86_400
    private static let maximumBytes = 64 << 20
    private static let hiddenPrefix = "\(SegmentName.newPrefix)erased-"

    private let spool: SpoolFolder
    /// What the file said when it was read last.
    package private(set) var book = ErasureBook(seed: 0)
    /// Grows with each change of the book.
    package private(set) var generation = 0
    private var seen: (identity: FileStatus.Identity, size: Int)?

    package init(in spool: SpoolFolder) { self.spool = spool }

    /// Reads the file again if it changed; a file that is not there lists nobody.
    ///
    /// - Returns: whether something changed.
    /// - Throws: `damaged` with the disposition `stop` when the file does not verify.
    @discardableResult
    package func refresh() throws(SpoolError) -> Bool {
        let status: FileStatus
        do throws(SystemError) {
            status = try FileStatus(of: spool.erased)
        } catch {
            guard error.errno == ENOENT else { throw SpoolError(error, disposition: .stop) }
            guard seen != nil else { return false }
            seen = nil
            change(to: ErasureBook(seed: 0))
            return true
        }
        if let seen, seen.identity == status.identity, seen.size == status.size { return false }
        let bytes = try SpoolFolder.stopping { () throws(SystemError) in
            try FileSystem.contents(of: spool.erased, limit: Self.maximumBytes)
        }
        let found = try ErasureText.parse(bytes, path: spool.erased).book
        seen = (status.identity, status.size)
        change(to: found)
        return true
    }

    private func change(to book: ErasureBook) {
        self.book = book
        generation += 1
    }

    // MARK: Writing

    /// Lists persons; durable when it returns.
    ///
    /// * `until`: records that were received then or earlier are to be forgotten, Unix seconds.
    ///
    /// - Throws: `overloaded` when the list is full; nothing was changed then.
    package func add(_ persons: [Person], until: Int, clock: SystemClock = .system) throws(SpoolError) {
        let now = clock.wallSeconds
        try append { book throws(SpoolError) in
            var lines = ByteBuffer(capacity: 128 * persons.count)
            var fresh: Set<ErasureBook.PersonHash> = []
            for person in persons {
                let hash = book.hash(of: person)
                if book.entries[hash] == nil { fresh.insert(hash) }
                let entry = ErasureBook.Entry(kind: person.kind, until: until, notedAt: now)
                ErasureText.append(hash, entry, to: &lines)
            }
            guard book.entries.count + fresh.count <= Self.maximumEntries else {
                throw SpoolError(
                    .overloaded,
                    path: spool.erased,
                    detail: "the list holds \(book.entries.count) erased persons, \(Self.maximumEntries) at most; "
                        + "entries leave it \(Self.keptSeconds / 86_400) days after everything of them is gone"
                )
            }
            return Array(lines.bytes)
        }
        try refresh()
    }

    /// Notes that all of quarantine was looked at for every person that `book` lists.
    package func markSwept(at seconds: Int) throws(SpoolError) {
        guard !book.isEmpty, book.sweptAt < seconds else { return }
        try append { (_) throws(SpoolError) in
            var line = ByteBuffer(capacity: 64)
            ErasureText.appendSweep(at: seconds, to: &line)
            return Array(line.bytes)
        }
        try refresh()
    }

    /// Removes entries that are older than `keptSeconds` and have nothing left to do.
    ///
    /// That is so when quarantine was looked at since, and no segment in the spool is older than that look.
    ///
    /// * `oldestSegmentAt`: Unix seconds of the oldest segment that is not finished; nil when there is none.
    ///
    /// - Returns: how many.
    @discardableResult
    package func removeOld(oldestSegmentAt: Int?, clock: SystemClock = .system) throws(SpoolError) -> Int {
        let limit = clock.wallSeconds - Self.keptSeconds
        func isOld(_ entry: ErasureBook.Entry, _ book: ErasureBook) -> Bool {
            entry.notedAt < limit && entry.notedAt <= book.sweptAt && (oldestSegmentAt ?? .max) > book.sweptAt
        }
        guard book.entries.values.contains(where: { isOld($0, book) }), let holder = try locked() else { return 0 }
        defer { try? holder.file.unlock() }  // closing would do it as well
        let now = try read().book
        let kept = now.entries.filter { !isOld($0.value, now) }
        var lines = ByteBuffer(capacity: 128 * (kept.count + 2))
        ErasureText.appendHeader(seed: now.seed, to: &lines)
        for (hash, entry) in kept.sorted(by: { $0.value.notedAt < $1.value.notedAt }) {
            ErasureText.append(hash, entry, to: &lines)
        }
        if now.sweptAt != .min { ErasureText.appendSweep(at: now.sweptAt, to: &lines) }
        try putInPlace(lines.bytes, replacing: true)
        try refresh()
        return now.entries.count - kept.count
    }

    private func append(
        _ lines: (ErasureBook) throws(SpoolError) -> [UInt8]
    ) throws(SpoolError) {
        let holder = try made()
        defer { try? holder.file.unlock() }  // closing would do it as well
        // A whole new file: a loss of power in the midst of an append could leave lines that do not verify, and a file
        // whose name is not durable yet would take with it what was appended.
        let (bytes, book, wholeBytes) = try read()
        var whole = ByteBuffer(capacity: wholeBytes + 4096)
        whole.append(Array(bytes[..<wholeBytes]))
        whole.append(try lines(book))
        try putInPlace(whole.bytes, replacing: true)
    }

    /// What the file holds whose lock the caller has, so that the path names it.
    private func read() throws(SpoolError) -> (bytes: [UInt8], book: ErasureBook, wholeBytes: Int) {
        let bytes = try spoolCall { () throws(SystemError) in
            try FileSystem.contents(of: spool.erased, limit: Self.maximumBytes)
        }
        let (book, wholeBytes) = try ErasureText.parse(bytes, path: spool.erased)
        return (bytes, book, wholeBytes)
    }

    /// The file with its lock, new when there was none.
    private func made() throws(SpoolError) -> FileHolder {
        while true {
            if let holder = try locked() { return holder }
            var header = ByteBuffer(capacity: 128)
            ErasureText.appendHeader(seed: .random(in: .min ... .max), to: &header)
            try putInPlace(header.bytes, replacing: false)
        }
    }

    /// The file that the path names, with its lock; nil when there is none.
    private func locked() throws(SpoolError) -> FileHolder? {
        try spoolCall { () throws(SystemError) in
            while true {
                let holder: FileHolder
                do throws(SystemError) {
                    holder = FileHolder(try File(opening: spool.erased, O_RDWR))
                } catch {
                    if error.errno == ENOENT { return nil }
                    throw error
                }
                try holder.file.lock()
                if holder.file.isStillAtItsPath() { return holder }
            }
        }
    }

    /// Removes what a killed command left of a new file.
    private func removeLeftovers() throws(SystemError) {
        for name in try FileSystem.names(in: spool.root) where name.utf8.starts(with: Self.hiddenPrefix.utf8) {
            let path = "\(spool.root)/\(name)"
            guard let status = try? FileStatus(of: path) else { continue }  // in place meanwhile
            if SystemClock.system.wallSeconds - status.modifiedAt > 60 { try FileSystem.removeIfPresent(path) }
        }
    }

    /// Puts a whole new file in place; one that somebody else made meanwhile stays unless it is to be replaced.
    private func putInPlace(_ bytes: UnsafeRawBufferPointer, replacing: Bool) throws(SpoolError) {
        let hidden = "\(spool.root)/\(Self.hiddenPrefix)\(SpoolFolder.randomText())"
        do throws(SystemError) {
            try removeLeftovers()
            let file = try File(opening: hidden, O_WRONLY | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode)
            try file.write(bytes)
            try file.sync()
            if replacing {
                try FileSystem.replace(spool.erased, with: hidden)
            } else {
                try FileSystem.move(hidden, to: spool.erased)
            }
            try FileSystem.syncFolder(spool.root)
        } catch {
            _ = try? FileSystem.removeIfPresent(hidden)  // the first fault is the one to report
            if error.errno == EEXIST && !replacing { return }
            throw SpoolError(error)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// The file `ledger`: what was sealed and what became of it, one checksummed line for each fact.
///
/// Every program appends with O_APPEND under an exclusive `flock(2)`, so that a write that the kernel cuts in two is not
/// torn apart by another's; whoever folds old lines into totals holds it too and puts a new file in place, so everyone
/// who takes the lock makes sure first that the path still names its file. All methods may be called from any thread.
package final class Ledger: Sendable {
    /// What the ledger knows of a segment.
    package enum Standing: Hashable, Sendable {
        /// Never sealed, as far as it knows.
        case unknown
        case sealed(records: Int, isExact: Bool, isReplay: Bool)
        case finished
    }

    /// Room that is kept free behind the end, so that segments can be finished, and thereby removed, on a full disk.
    static let reserveBytes = 1 << 20
    /// Size in bytes from which the ledger is folded.
    package static let foldingBytes = 16 << 20

    package let spool: SpoolFolder
    let clock: SystemClock
    let foldingBytes: Int
    private let file: Lock<FileHolder?>
    private let reader: Lock<LedgerReader>

    /// Opens the ledger, and makes it when there is none.
    package init(
        in spool: SpoolFolder,
        clock: SystemClock = .system,
        foldingBytes: Int = Ledger.foldingBytes
    ) throws(SpoolError) {
        self.spool = spool
        self.clock = clock
        self.foldingBytes = foldingBytes
        file = Lock(try spoolCall { () throws(SystemError) in try Self.opened(spool) })
        reader = Lock(LedgerReader(path: spool.ledger))
        try refresh()
    }

    /// Reads the ledger of a spool without making or touching anything.
    package static func book(of spool: SpoolFolder) throws(SpoolError) -> LedgerBook {
        var reader = LedgerReader(path: spool.ledger)
        try spoolCall { () throws(SystemError) in try reader.refresh() }
        return reader.book
    }

    private static func opened(_ spool: SpoolFolder) throws(SystemError) -> FileHolder {
        let path = spool.ledger
        while true {
            do throws(SystemError) {
                let file: File
                do throws(SystemError) {
                    file = try File(opening: path, O_RDWR | O_APPEND)
                } catch {
                    guard error.errno == ENOENT else { throw error }
                    file = try File(opening: path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode)
                }
                // Whoever made or folded it may have been killed before its name was durable, and lines are worth as much.
                try FileSystem.syncFolder(spool.root)
                return FileHolder(file)
            } catch {
                guard error.errno == EEXIST else { throw error }
            }
        }
    }

    // MARK: Reading

    /// What is known now of a segment.
    package func standing(of segment: SegmentName) throws(SpoolError) -> Standing {
        try reader.withLock { (reader) throws(SpoolError) in
            try spoolCall { () throws(SystemError) in try reader.refresh() }
            if reader.book.finished.contains(segment) { return .finished }
            guard let sealed = reader.book.open[segment] else { return .unknown }
            return .sealed(records: sealed.records, isExact: sealed.isExact, isReplay: sealed.isReplay)
        }
    }

    /// Everything that is known now.
    package func book() throws(SpoolError) -> LedgerBook {
        try reader.withLock { (reader) throws(SpoolError) in
            try spoolCall { () throws(SystemError) in try reader.refresh() }
            return reader.book
        }
    }

    private func refresh() throws(SpoolError) {
        try reader.withLock { (reader) throws(SpoolError) in
            try spoolCall { () throws(SystemError) in try reader.refresh() }
        }
    }

    // MARK: Writing

    /// Appends one line for each event with one write, and makes them durable.
    ///
    /// * `isSynced`: false leaves `sync` to the caller.
    ///
    /// When it throws, the lines may be there or not, durable or not; to append them once more does no harm, since every
    /// segment and every move is counted once.
    package func append(_ events: [LedgerEvent], isSynced: Bool = true) throws(SpoolError) {
        guard !events.isEmpty else { return }
        let seconds = clock.wallSeconds
        var buffer = ByteBuffer(capacity: 256 * events.count)
        // Where the line before was torn by a crash or a full disk, a second attempt begins with a line feed.
        buffer.append(UInt8(ascii: "\n"))
        for event in events { LedgerText.append(event, at: seconds, to: &buffer) }
        let holder = try append(buffer.bytes)
        if isSynced { try spoolCall { () throws(SystemError) in try holder.file.syncData() } }
    }

    /// Makes everything durable that stands in the ledger, whoever appended it.
    package func sync() throws(SpoolError) {
        let holder = try file.withLock { (current) throws(SpoolError) in
            try spoolCall { () throws(SystemError) in
                let holder = try locked(&current)
                try holder.file.unlock()
                return holder
            }
        }
        try spoolCall { () throws(SystemError) in try holder.file.syncData() }
    }

    /// * `bytes`: whole lines behind one line feed, which is written only where it is needed.
    private func append(_ bytes: UnsafeRawBufferPointer) throws(SpoolError) -> FileHolder {
        try file.withLock { (current) throws(SpoolError) in
            try spoolCall { () throws(SystemError) in
                let holder = try locked(&current)
                defer { try? holder.file.unlock() }  // closing would do it as well
                try write(bytes, to: holder.file)
                keepReserve(of: holder.file)
                return holder
            }
        }
    }

    /// The file that the path names, with its lock.
    private func locked(_ current: inout FileHolder?) throws(SystemError) -> FileHolder {
        while true {
            let holder: FileHolder
            if let current { holder = current } else { holder = try Self.opened(spool) }
            current = holder
            try holder.file.lock()
            if holder.file.isStillAtItsPath() { return holder }
            try holder.file.unlock()
            current = nil
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to file: borrowing File) throws(SystemError) {
        let lines = UnsafeRawBufferPointer(rebasing: bytes[1...])
        try file.write(lines)
        let start = try file.position() - lines.count
        guard start > 0 else { return }
        var before: UInt8 = 0
        let count = try withUnsafeMutableBytes(of: &before) { (room) throws(SystemError) in
            try file.read(into: room, at: start - 1)
        }
        // Glued to a torn line, the first of these does not verify.
        if count == 1 && before != UInt8(ascii: "\n") { try file.write(bytes) }
    }

    // MARK: Reserve

    private func keepReserve(of file: borrowing File) {
        guard let status = try? file.status() else { return }  // no reserve then
        guard status.allocated - status.size < Self.reserveBytes / 4 else { return }
        // Not every filesystem can, and a full one cannot: the ledger works without.
        _ = try? file.reserveBehindEnd(from: status.size, count: Self.reserveBytes)
    }

    /// Frees the room behind the ledger's end, for something that is needed more; the next line reserves it again.
    package static func giveBackReserve(of spool: SpoolFolder) throws(SpoolError) {
        try spoolCall { () throws(SystemError) in
            let holder = try opened(spool)
            try holder.file.lock()
            guard holder.file.isStillAtItsPath() else { return }
            try holder.file.truncate(to: try holder.file.status().size)
        }
    }
}

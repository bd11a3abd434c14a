// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// Puts the bad records of one claim into quarantine, each once.
///
/// Entries wait in memory until `sync`, which writes them as a frame and makes them and the file's name durable; only
/// then may progress say `quarantined`. The file, `quarantine/<new name>.ndjson.lz4`, is made by the first `sync` that
/// has something to write, and stays locked until `finish`. Not safe for two threads at once.
///
/// Where a write fails, nothing is lost: what was not durable stays in memory, and the next `sync` puts it into another
/// file.
package final class QuarantineWriter {
    /// Seconds for which the folder's size is believed.
    private static let usageSeconds = 5

    private let spool: SpoolFolder
    private let claim: SegmentName
    private let clock: SystemClock
    private let limitBytes: Int?
    private var file: SegmentFile?
    private var known: Set<RecordOrigin> = []
    private var pending = ByteBuffer(capacity: 1024)
    private var usage: (bytes: Int, at: Int)?
    private var nextSequence: UInt64 = 0
    /// Records that an earlier claim of the segment has put here, by their origins.
    package private(set) var earlierRecords: [RecordOrigin] = []
    /// Ranges of bytes that an earlier claim could not read, with their records.
    package private(set) var earlierDamage: [RecordOrigin: Int] = [:]
    /// Records in entries of this claim that are durable.
    package private(set) var durableRecords = 0
    private var pendingRecords = 0

    /// * `claim`: the segment whose records these are.
    /// * `readsExisting`: looks for entries that an earlier claim of the segment left; for adopted claims and those
    ///   with a progress file. They are synced and then count as durable: `contains` says so, and such a record must be
    ///   resolved as quarantined, not sent.
    /// * `limitBytes`: most that the folder `quarantine/` may take on disk; nil is no limit.
    package init(
        for claim: SegmentName,
        in spool: SpoolFolder,
        readsExisting: Bool,
        limitBytes: Int? = nil,
        clock: SystemClock = .system
    ) throws(SpoolError) {
        self.claim = claim
        self.spool = spool
        self.clock = clock
        self.limitBytes = limitBytes
        if readsExisting { try readExisting() }
    }

    private func readExisting() throws(SpoolError) {
        let folder = QuarantineFolder(of: spool)
        let files = try folder.files(ofClaim: claim)
        guard !files.isEmpty else { return }
        for found in files {
            nextSequence = max(nextSequence, found.name.sequence + 1)
            let synced = try spoolCall { () throws(SystemError) in try File(opening: found.path, O_RDWR) }
            try spoolCall { () throws(SystemError) in try synced.sync() }
            try folder.read(found) { (item) throws(SpoolError) in
                guard known.insert(item.origin).inserted else { return }
                durableRecords += item.records
                if item.entry.damage != nil {
                    earlierDamage[item.origin] = item.records
                } else {
                    earlierRecords.append(item.origin)
                }
            }
        }
        try spoolCall { () throws(SystemError) in try FileSystem.syncFolder(spool.quarantine) }
    }

    /// Whether an entry of this origin is here, durable or still in memory.
    package func contains(_ origin: RecordOrigin) -> Bool { !known.isEmpty && known.contains(origin) }

    /// Whether entries wait for `sync`.
    package var hasPending: Bool { !pending.isEmpty }

    /// Size of these entries.
    package var pendingBytes: Int { pending.count }

    /// Whether the claim has no entries at all.
    package var isEmpty: Bool { known.isEmpty }

    /// Adds an entry to those that wait.
    ///
    /// * `record`: the record's bytes, with or without its line feed; nil for damage.
    /// * `isObject`: whether these bytes are a JSON object of at most 32 levels.
    ///
    /// Returns false when there is one of this origin already.
    @discardableResult
    package func append(
        _ entry: QuarantineEntry,
        record: UnsafeRawBufferPointer?,
        isObject: Bool = true
    ) -> Bool {
        guard known.insert(entry.origin).inserted else { return false }
        var record = record
        if let bytes = record, bytes.last == UInt8(ascii: "\n") {
            record = UnsafeRawBufferPointer(rebasing: bytes.dropLast())
        }
        entry.append(to: &pending, record: record, isObject: isObject)
        pendingRecords += entry.records
        return true
    }

    /// Makes all entries durable: written, data synced, and the file's name in the folder synced.
    ///
    /// Before a file shows, the claim has a progress file whose name is durable. Without it, a claim that was given back,
    /// or whose rename a loss of power undid, would look untouched, and its records would be sent although they are here.
    ///
    /// - Throws: `outOfSpace` when the disk is full or the quarantine at its limit, or another error; the entries stay
    ///   in memory and the next call tries again.
    package func sync() throws(SpoolError) {
        guard !pending.isEmpty else { return }
        try checkLimit()
        let isNew = file == nil
        do throws(SpoolError) {
            let file = try opened()
            let now = clock.wallSeconds
            try file.append(lines: pending.bytes, receivedAt: now...now)
            try file.syncData()
            if isNew {
                try spoolCall { () throws(SystemError) in try Progress.announce(claim, in: spool) }
                try file.show()
                try spoolCall { () throws(SystemError) in try FileSystem.syncFolder(spool.quarantine) }
            }
        } catch {
            giveUpFile(isNew: isNew)
            throw error
        }
        usage?.bytes += pending.count
        durableRecords += pendingRecords
        pending.removeAll()
        pending.shrink(to: 1 << 20)
        pendingRecords = 0
    }

    /// Syncs what waits, ends the file with its footer, and unlocks it.
    ///
    /// To be done before the segment's `finished` line.
    package func finish() throws(SpoolError) {
        try sync()
        guard let file else { return }
        do throws(SpoolError) {
            try file.finish()
            self.file = nil
        } catch {
            // All entries are durable; a file without footer is legal.
            self.file = nil
            if error.code != .outOfSpace { throw error }
        }
    }

    private func opened() throws(SpoolError) -> SegmentFile {
        if let file { return file }
        let name = SegmentName(
            millisecondsSince1970: min(max(0, Int(clock.wallMilliseconds())), SegmentName.millisecondsLimit - 1),
            writer: claim.quarantineWriter,
            sequence: nextSequence
        )
        nextSequence += 1
        let made = try SegmentFile(
            creating: name,
            in: spool.quarantine,
            as: name.sealedFileName,
            createdAt: clock.wallSeconds
        )
        file = made
        return made
    }

    /// Lets go of a file that a call failed on; what is durable in it stays.
    private func giveUpFile(isNew: Bool) {
        guard let file else { return }
        self.file = nil
        if isNew {
            file.discard()
        } else {
            // Where cutting fails, the rest is at worst a second entry of the same origin, which is counted once.
            try? file.cutToDurable()
        }
    }

    private func checkLimit() throws(SpoolError) {
        guard let limitBytes else { return }
        let now = clock.wallSeconds
        if usage == nil || abs(now - (usage?.at ?? 0)) > Self.usageSeconds {
            usage = (try QuarantineFolder(of: spool).allocatedBytes(), now)
        }
        guard let usage, usage.bytes + pending.count / 4 > limitBytes else { return }
        throw SpoolError(
            .outOfSpace,
            path: spool.quarantine,
            detail:
                "quarantine takes \(usage.bytes) bytes and has reached its limit of \(limitBytes); replay or discard "
                + "some of it"
        )
    }
}

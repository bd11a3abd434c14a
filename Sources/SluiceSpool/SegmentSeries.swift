// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// The segments of one writer, one after the other: begins them, adds groups, seals them, abandons those that failed.
///
/// Order of calls, each before the next: new file locked and shown, `incoming/` synced → groups written, `fdatasync`,
/// path checked → whoever waits is answered. Sealing: footer → ledger line → `fsync` → rename → both folders synced.
///
/// Used by one thread at a time.
final class SegmentSeries {
    struct Totals {
        var sealed = 0
        /// Given up after a failed call, and renamed without footer.
        var abandoned = 0
        /// Removed by somebody else while they were written.
        var lost = 0
    }

    private let incoming: String
    private let ready: String
    private let options: SegmentWriterOptions
    private let clock: SystemClock
    private let recordSealed: @Sendable (SegmentName, Int) throws(SpoolError) -> Void
    private let takeRemovedNames: @Sendable () -> NameTally
    private let report: @Sendable (SpoolError) -> Void
    private let writer: UInt64
    private let host = Host.name
    private let encoder = SegmentEncoder()
    private var nextSequence: UInt64 = 0
    private var lastMilliseconds = -1
    private var current: SegmentFile?
    /// When the current segment is due, by the monotonic clock.
    private(set) var sealDeadline: Int64?
    private var openedAt: Int64 = 0
    private(set) var totals = Totals()

    init(
        incoming: String,
        ready: String,
        options: SegmentWriterOptions,
        clock: SystemClock,
        writer: UInt64 = .random(in: .min ... .max),
        recordSealed: @escaping @Sendable (SegmentName, Int) throws(SpoolError) -> Void,
        takeRemovedNames: @escaping @Sendable () -> NameTally,
        report: @escaping @Sendable (SpoolError) -> Void
    ) {
        self.incoming = incoming
        self.ready = ready
        self.options = options
        self.clock = clock
        self.writer = writer
        self.recordSealed = recordSealed
        self.takeRemovedNames = takeRemovedNames
        self.report = report
    }

    // MARK: - Committing

    /// Makes all of `buffer` durable.
    ///
    /// - Throws: when any of it may not be; the segment is abandoned then, and the next call begins a new one.
    func commit(_ buffer: borrowing CommitBuffer) throws(SpoolError) {
        let file = try openSegment()
        do throws(SpoolError) {
            try buffer.forEachFrame { (content, records, receivedAt) throws(SpoolError) in
                try file.append(content, records: records, receivedAt: receivedAt)
            }
            try file.syncData()
            try checkPath(of: file)
        } catch {
            abandon(file)
            throw error
        }
    }

    /// Bytes of the open segment's file.
    var currentFileBytes: Int { current?.fileBytes ?? 0 }

    private func openSegment() throws(SpoolError) -> SegmentFile {
        if let current { return current }
        let wall = min(max(0, Int(clock.wallMilliseconds())), SegmentName.millisecondsLimit - 1)
        let milliseconds = max(wall, lastMilliseconds + 1)
        let name = SegmentName(millisecondsSince1970: milliseconds, writer: writer, sequence: nextSequence)
        let file = try SegmentFile(
            creating: name,
            in: incoming,
            as: name.openFileName,
            host: host,
            createdAt: wall / 1000,
            reserving: options.reservedBytes,
            encoder: encoder
        )
        do throws(SpoolError) {
            try file.show()
        } catch {
            file.discard()
            throw error
        }
        // From here on the name is used: a sequence without gaps shows that no segment got lost.
        nextSequence += 1
        lastMilliseconds = milliseconds
        current = file
        openedAt = clock.monotonicNanoseconds()
        sealDeadline = openedAt + options.sealAge.nanoseconds
        do throws(SpoolError) {
            try sync(folder: incoming)
        } catch {
            abandon(file)
            throw error
        }
        return file
    }

    private func sync(folder: String) throws(SpoolError) {
        try spoolCall { () throws(SystemError) in try FileSystem.syncFolder(folder) }
    }

    private func checkPath(of file: SegmentFile) throws(SpoolError) {
        guard !file.isAtItsPath else { return }
        throw SpoolError(
            .lockLost,
            path: file.path,
            detail: "the segment that was being written is gone or replaced; nothing was acknowledged into it",
            disposition: .retry
        )
    }

    // MARK: - Sealing

    /// Seals the open segment if it is large or old enough.
    func sealIfDue() {
        guard let current else { return }
        if current.fileBytes >= options.sealBytes { return seal() }
        let now = clock.monotonicNanoseconds()
        guard let deadline = sealDeadline, now >= deadline else { return }
        let due = openedAt + sealAge().nanoseconds
        if now >= due {
            seal()
            encoder.shrink(to: 1 << 20)
        } else {
            sealDeadline = min(due, now + options.sealAge.nanoseconds)
        }
    }

    /// How old a segment may get, by how many are waiting already.
    private func sealAge() -> Duration {
        let limit = options.readySegmentsBeforeLongAge
        // A folder that cannot be read says nothing; the usual age is right then.
        let count = (try? FileSystem.countNames(in: ready, upTo: 2 * limit)) ?? 0
        guard count > limit else { return options.sealAge }
        let share = Double(min(count, 2 * limit) - limit) / Double(limit)
        return options.sealAge + (options.longSealAge - options.sealAge) * share
    }

    /// Seals the open segment now.
    func seal() {
        guard let file = current else { return }
        do throws(SpoolError) {
            try checkPath(of: file)
            try file.appendFooter(removedNames: takeRemovedNames())
            try file.releaseSpareRoom()
            noteSealed(file)
            try file.sync()
        } catch {
            report(error)
            return abandon(file)
        }
        forget(file)
        if moveToReady(file) { totals.sealed += 1 }
    }

    /// A line that cannot be written now is written by whoever claims the segment.
    private func noteSealed(_ file: SegmentFile) {
        do throws(SpoolError) {
            try recordSealed(file.name, file.totals.records)
        } catch {
            report(error)
        }
    }

    private func forget(_ file: SegmentFile) {
        current = nil
        sealDeadline = nil
    }

    /// Gives a segment up after a failed call: cut back if that works, never synced again, renamed without footer.
    ///
    /// What it holds is counted by whoever claims it.
    private func abandon(_ file: SegmentFile) {
        forget(file)
        guard file.isAtItsPath else {
            totals.lost += 1
            return
        }
        do throws(SpoolError) {
            try file.cutToDurable()
        } catch {
            report(error)
        }
        if moveToReady(file) { totals.abandoned += 1 }
    }

    /// - Returns: false when the file stays in `incoming/`, where a relay's recovery finds it once its lock is free.
    private func moveToReady(_ file: SegmentFile) -> Bool {
        do throws(SpoolError) {
            try file.move(to: ready + "/" + file.name.sealedFileName)
            try sync(folder: ready)
            try sync(folder: incoming)
            return true
        } catch {
            report(error)
            return file.path.utf8.starts(with: (ready + "/").utf8)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// Takes records from many threads and makes them durable in groups.
///
/// `append` copies a request's records into a shared buffer. A commit thread takes all that has gathered, writes it as
/// one frame (more, cut between requests, when there is over 4 MiB), calls `fdatasync`, and then answers every request
/// of the group in one call of `completed`. While it works, the next group gathers: the slower the disk, the larger
/// the groups.
///
/// Nothing waits without bound: a full buffer refuses, so does a full disk, and a second thread answers requests whose
/// commit takes longer than `stallLimit`.
///
/// A writer lives until `stop` is called; its threads hold on to it.
package final class SegmentWriter: Sendable {
    /// What a writer tells its owner; called on its own threads, without any lock held.
    package struct Handlers: Sendable {
        /// A group of requests is answered.
        ///
        /// Runs before the next commit: resume connections here, do nothing slow.
        package var completed: @Sendable (CommitCompletion) -> Void = { _ in }
        /// A commit ended.
        package var committed: @Sendable (CommitReport) -> Void = { _ in }
        /// A segment of this many records is sealed: the place for its ledger line, before it is renamed.
        package var sealed: @Sendable (SegmentName, Int) throws(SpoolError) -> Void = { _, _ in }
        /// Takes the names that were removed from events since the last call, for the footer of a segment.
        package var takeRemovedNames: @Sendable () -> NameTally = { NameTally() }
        /// Something failed that no request is answered with, or that an operator has to know.
        package var failed: @Sendable (SpoolError) -> Void = { _ in }

        package init() {}
    }

    private let root: String
    private let options: SegmentWriterOptions
    private let handlers: Handlers
    private let clock: SystemClock
    private let queue: CommitQueue
    private let counts = Lock(SegmentWriterStatistics())
    private let threads = Lock<[SystemThread]>([])

    /// Starts a writer, with a name of its own, in the spool at `root`, whose folders exist.
    package init(
        root: String,
        options: SegmentWriterOptions = SegmentWriterOptions(),
        clock: SystemClock = .system,
        handlers: Handlers = Handlers()
    ) {
        self.root = root
        self.options = options
        self.handlers = handlers
        self.clock = clock
        queue = CommitQueue(path: root, maximumBytes: options.maximumBufferedBytes, clock: clock)
        threads.withLock {
            $0 = [
                SystemThread(name: "sluice-commit") { self.runCommits() },
                SystemThread(name: "sluice-watch") { self.runWatch() },
            ]
        }
    }

    /// Starts a writer that notes every sealed segment in `ledger`.
    package convenience init(
        spool: SpoolFolder,
        ledger: Ledger,
        options: SegmentWriterOptions = SegmentWriterOptions(),
        clock: SystemClock = .system,
        handlers: Handlers = Handlers()
    ) {
        var noting = handlers
        noting.sealed = { (segment, records) throws(SpoolError) in
            try handlers.sealed(segment, records)
            // Not synced: whoever claims a segment without a line adds it.
            try ledger.append([.sealed(segment, records: records)], isSynced: false)
        }
        self.init(root: spool.root, options: options, clock: clock, handlers: noting)
    }

    // MARK: - Any thread

    /// Takes the records of one request; they are durable once `completed` says so.
    ///
    /// - Parameters:
    ///   - records: whole NDJSON lines.
    ///   - count: their number.
    ///   - receivedAt: Unix seconds.
    ///   - token: handed to `completed`, which may run before this call returns.
    ///   - waits: whether to wait while the buffer is full; for programs whose input can wait.
    /// - Returns: the request's number; numbers rise by one.
    /// - Throws: nothing was taken then: `tooLarge`, `overloaded`, `outOfSpace`, `stalled`, `closed`, or why the last
    ///   commits failed.
    @discardableResult
    package func append(
        _ records: UnsafeRawBufferPointer,
        count: Int,
        receivedAt: Int,
        token: UInt = 0,
        waits: Bool = false
    ) throws(SpoolError) -> UInt64 {
        precondition(records.last == UInt8(ascii: "\n"), "a request's records are whole lines")
        guard records.count <= SegmentEncoder.maximumContentBytes else {
            throw SpoolError(
                .tooLarge,
                path: root,
                detail: "a request of \(records.count) bytes does not fit into a frame of "
                    + "\(SegmentEncoder.maximumContentBytes)"
            )
        }
        return try queue.append(records, count: count, receivedAt: receivedAt, token: token, waits: waits)
    }

    /// Waits until everything that was taken before is answered.
    ///
    /// - Throws: the first error that a request was answered with since the last call.
    package func flush() throws(SpoolError) {
        if let error = queue.waitForAnswers() { throw error }
    }

    package var statistics: SegmentWriterStatistics {
        var statistics = counts.withLock { $0 }
        (statistics.bufferedBytes, statistics.refusal) = queue.snapshot()
        return statistics
    }

    /// Takes nothing more, commits what was taken, seals, and ends the writer's threads.
    ///
    /// - Parameter limit: how long to wait; nil waits as long as it takes.
    /// - Returns: false when the disk does not answer in time; requests that still wait are answered by the stall limit.
    @discardableResult
    package func stop(within limit: Duration? = nil) -> Bool {
        queue.close()
        guard queue.waitForEnd(nanoseconds: limit?.nanoseconds) else { return false }
        for thread in threads.withLock({ $0 }) { thread.join() }
        return true
    }

    // MARK: - The commit thread

    private func runCommits() {
        let series = SegmentSeries(
            incoming: root + "/incoming",
            ready: root + "/ready",
            options: options,
            clock: clock,
            recordSealed: handlers.sealed,
            takeRemovedNames: handlers.takeRemovedNames,
            report: handlers.failed
        )
        var room = SpoolRoom(root: root, options: options)
        var buffer = CommitBuffer()
        var group = CommitQueue.Group()
        var failuresInARow = 0
        loop: while true {
            switch queue.next(into: &buffer, sealDeadline: series.sealDeadline) {
            case .stop: break loop
            case .seal: buffer.shrink()
            case .commit:
                let error = commit(buffer, in: series, &room)
                failuresInARow = error == nil ? 0 : failuresInARow + 1
                queue.finishCommit(into: &group, refusal: error.flatMap { refusal($0, failuresInARow) })
                answer(&group, error: error)
                buffer.removeAll()
            }
            series.sealIfDue()
            note(series.totals)
        }
        series.seal()
        note(series.totals)
        queue.end()
    }

    private func commit(
        _ buffer: borrowing CommitBuffer,
        in series: SegmentSeries,
        _ room: inout SpoolRoom
    ) -> SpoolError? {
        let start = clock.monotonicNanoseconds()
        var failure: SpoolError?
        let before = series.currentFileBytes
        do throws(SpoolError) {
            try room.check(adding: buffer.contentBytes, clock: clock)
            try series.commit(buffer)
            room.wrote(series.currentFileBytes - before)
        } catch {
            failure = error
        }
        let report = CommitReport(
            nanoseconds: clock.monotonicNanoseconds() - start,
            requests: buffer.requestCount,
            records: buffer.recordCount,
            bytes: buffer.contentBytes,
            error: failure
        )
        counts.withLock { $0.add(report) }
        handlers.committed(report)
        return failure
    }

    /// How long new requests are refused after a failure: a limit is looked at again soon, a full disk or a disk that
    /// fails again and again after a pause, and a single failure costs no more than its own requests.
    private func refusal(_ error: SpoolError, _ failuresInARow: Int) -> (error: SpoolError, until: Int64)? {
        let now = clock.monotonicNanoseconds()
        if error.code == .outOfSpace && error.errnoCode == nil { return (error, now + 100_000_000) }
        guard error.code == .outOfSpace || failuresInARow > 1 else { return nil }
        return (error, now + options.pauseAfterFailure.nanoseconds)
    }

    private func answer(_ group: inout CommitQueue.Group, error: SpoolError?) {
        if !group.tokens.isEmpty {
            group.tokens.withUnsafeBufferPointer {
                handlers.completed(CommitCompletion(firstTicket: group.first, tokens: $0, error: error))
            }
        }
        queue.noteAnswered(group, error: error)
        group.tokens.removeAll(keepingCapacity: true)
    }

    private func note(_ totals: SegmentSeries.Totals) {
        counts.withLock { counts in
            counts.sealedSegments = totals.sealed
            counts.abandonedSegments = totals.abandoned
            counts.lostSegments = totals.lost
        }
    }

    // MARK: - The watch

    private func runWatch() {
        let limit = options.stallLimit.nanoseconds
        let error = SpoolError(
            .stalled,
            path: root,
            detail: "the disk has not answered for more than \(options.stallLimit); what waits may still be delivered"
        )
        while queue.waitForNextLook(nanoseconds: min(max(limit / 8, 10_000_000), 1_000_000_000)) {
            for var group in queue.takeStalled(limit: limit, error: error) {
                counts.withLock { $0.stalledRequests += group.tokens.count }
                answer(&group, error: error)
            }
        }
    }
}

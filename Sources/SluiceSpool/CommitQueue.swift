// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Where requests wait for the next commit, and how they are answered in groups.
///
/// Does no input or output.
///
/// Requests get numbers, tickets, that rise by one. Each is answered exactly once: with its group when the commit
/// ends, or by the watch when that takes too long.
///
/// **Sendable.** Everything that changes is touched only while `lock` is held.
final class CommitQueue: @unchecked Sendable {
    enum Work {
        /// A group was handed out.
        case commit
        /// Nothing waits, and the deadline has come.
        case seal
        /// Nothing waits, and nothing more will come.
        case stop
    }

    /// Requests to answer together; `first` is the ticket of the first token.
    struct Group {
        var first: UInt64 = 1
        var tokens: ContiguousArray<UInt> = []

        var end: UInt64 { first + UInt64(tokens.count) }
    }

    private let path: String
    private let maximumBytes: Int
    private let clock: SystemClock

    private let lock = ThreadLock()
    private let work: ThreadCondition
    private let progress: ThreadCondition
    private let watch: ThreadCondition

    private var buffer = CommitBuffer()
    private var waiting = Group()
    private var inFlight = Group()
    /// All requests before this ticket are answered.
    private var answered: UInt64 = 1
    /// Since when the commit thread is at work.
    private var busySince: Int64?
    private var refusal: (error: SpoolError, until: Int64)?
    /// The first error since `flush` was last asked.
    private var unreported: SpoolError?
    private var isClosed = false
    private var hasEnded = false

    init(path: String, maximumBytes: Int, clock: SystemClock) {
        self.path = path
        self.maximumBytes = maximumBytes
        self.clock = clock
        work = ThreadCondition(with: lock)
        progress = ThreadCondition(with: lock)
        watch = ThreadCondition(with: lock)
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body()
    }

    // MARK: - Requests

    /// Takes a request's records; where `waits` says so, waits while the buffer is full.
    func append(
        _ records: UnsafeRawBufferPointer,
        count: Int,
        receivedAt: Int,
        token: UInt,
        waits: Bool
    ) throws(SpoolError) -> UInt64 {
        lock.lock()
        defer { lock.unlock() }
        while let error = refusalToTake(records.count) {
            guard waits && error.code == .overloaded else { throw error }
            progress.wait()
        }
        // The commit thread only sleeps while the buffer is empty.
        if buffer.isEmpty && busySince == nil { work.signal() }
        buffer.append(records, count: count, receivedAt: receivedAt)
        waiting.tokens.append(token)
        return waiting.end - 1
    }

    private func refusalToTake(_ bytes: Int) -> SpoolError? {
        if isClosed { return SpoolError(.closed, path: path, detail: "the writer has been stopped") }
        if let error = standingRefusal() { return error }
        guard !buffer.isEmpty, buffer.chargedBytes + bytes > maximumBytes else { return nil }
        return SpoolError(
            .overloaded,
            path: path,
            detail: "\(buffer.chargedBytes) bytes wait to be written, the limit is \(maximumBytes)"
        )
    }

    private func standingRefusal() -> SpoolError? {
        guard let refusal else { return nil }
        if clock.monotonicNanoseconds() < refusal.until { return refusal.error }
        self.refusal = nil
        return nil
    }

    /// Waits until every request that was taken before is answered, and gives the first error since the last call.
    func waitForAnswers() -> SpoolError? {
        locked {
            let goal = waiting.end
            while answered < goal { progress.wait() }
            defer { unreported = nil }
            return unreported
        }
    }

    /// Bytes that wait, and the error that `append` throws at the moment.
    func snapshot() -> (bufferedBytes: Int, refusal: SpoolError?) {
        locked { (buffer.contentBytes, standingRefusal()) }
    }

    /// Takes nothing more.
    func close() {
        locked {
            isClosed = true
            work.signal()
            progress.broadcast()
        }
    }

    /// Waits until `end` was called.
    ///
    /// - Returns: false when that takes longer than `nanoseconds`.
    func waitForEnd(nanoseconds: Int64?) -> Bool {
        locked {
            let deadline = nanoseconds.map { clock.monotonicNanoseconds() + $0 }
            while !hasEnded {
                guard let deadline else {
                    progress.wait()
                    continue
                }
                let rest = deadline - clock.monotonicNanoseconds()
                if rest <= 0 { break }
                progress.wait(nanoseconds: rest)
            }
            return hasEnded
        }
    }

    // MARK: - The commit thread

    /// Waits for work; a group's records are swapped into `target`, which is empty.
    func next(into target: inout CommitBuffer, sealDeadline: Int64?) -> Work {
        lock.lock()
        defer { lock.unlock() }
        busySince = nil
        if refusal?.error.code == .stalled { refusal = nil }
        while buffer.isEmpty {
            if isClosed { return .stop }
            guard let sealDeadline else {
                work.wait()
                continue
            }
            let now = clock.monotonicNanoseconds()
            if now >= sealDeadline {
                busySince = now
                return .seal
            }
            work.wait(nanoseconds: sealDeadline - now)
        }
        swap(&buffer, &target)
        let end = waiting.end
        swap(&waiting, &inFlight)
        waiting.first = end
        busySince = clock.monotonicNanoseconds()
        // Room in the buffer.
        progress.broadcast()
        return .commit
    }

    /// Ends a commit: the requests that nobody has answered yet are moved to `group`, which is empty.
    ///
    /// `refusal` is what new requests are answered with from now on, and for how long.
    func finishCommit(into group: inout Group, refusal: (error: SpoolError, until: Int64)?) {
        locked {
            swap(&inFlight, &group)
            inFlight.tokens.removeAll(keepingCapacity: true)
            self.refusal = refusal
        }
    }

    /// Notes that the requests of `group` have their answer, so that `waitForAnswers` goes on.
    func noteAnswered(_ group: borrowing Group, error: SpoolError?) {
        locked {
            answered = max(answered, group.end)
            if let error, unreported == nil, !group.tokens.isEmpty { unreported = error }
            progress.broadcast()
        }
    }

    /// The commit thread ends.
    func end() {
        locked {
            busySince = nil
            hasEnded = true
            progress.broadcast()
            watch.signal()
        }
    }

    // MARK: - The watch

    /// Waits a while.
    ///
    /// - Returns: false when the commit thread has ended.
    func waitForNextLook(nanoseconds: Int64) -> Bool {
        locked {
            if !hasEnded { watch.wait(nanoseconds: nanoseconds) }
            return !hasEnded
        }
    }

    /// Takes all requests if the commit thread has been at work for longer than `limit` nanoseconds: those of the
    /// commit that hangs, and those that wait for the next one, whose records are forgotten.
    ///
    /// New requests are refused until the commit ends.
    func takeStalled(limit: Int64, error: SpoolError) -> [Group] {
        locked {
            guard let busySince, clock.monotonicNanoseconds() - busySince > limit else { return [] }
            refusal = (error, .max)
            let groups = [inFlight, waiting].filter { !$0.tokens.isEmpty }
            inFlight = Group(first: waiting.first)
            waiting = Group(first: waiting.end)
            buffer.removeAll()
            return groups
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem
internal import Synchronization

/// A segment that a worker took for itself.
package struct Claim: Hashable, Sendable {
    package var segment: SegmentName
    /// Where it is now, in the worker's folder.
    package var path: String
    /// It was taken over from a worker that is gone, so progress and quarantine entries of it may exist.
    package var isAdopted: Bool
}

/// A relay's folder `claimed/<worker>/`, which lives as long as its lock is held, and the claims in it.
///
/// All methods may be called from any thread; they make a few system calls each and wait for nobody.
package final class Worker: Sendable {
    struct State: Sendable {
        var ready: ReadyQueue
        /// Taken over, and not yet handed out; oldest first.
        var adopted: [SegmentName] = []
        /// Handed out or taken over, and still in the folder.
        var held: Set<SegmentName> = []
        var ignored = IgnoredFiles()
        /// Why claims could not be taken over.
        var problems: [SpoolError] = []
        var isClosed = false
    }

    /// How long a segment that cannot be moved or read is left alone.
    private static let skipTime: Int64 = 60_000_000_000

    /// The folder's name below `claimed/`.
    package let name: String
    package let spool: SpoolFolder
    let folder: String
    let clock: SystemClock
    private let lock: WorkerLock
    let state: Lock<State>

    private init(spool: SpoolFolder, name: String, lock: consuming WorkerLock, clock: SystemClock) {
        self.spool = spool
        self.name = name
        self.lock = lock
        self.clock = clock
        folder = "\(spool.claimed)/\(name)"
        state = Lock(State(ready: ReadyQueue(folder: spool.ready)))
    }

    /// Makes a worker's folder; its name begins with the process number.
    ///
    /// On a disk without room for one more folder it gives the ledger's reserve back and tries once more.
    package static func start(in spool: SpoolFolder, clock: SystemClock = .system) throws(SpoolError) -> Worker {
        do throws(SpoolError) {
            return try make(in: spool, clock: clock)
        } catch {
            guard error.code == .outOfSpace else { throw error }
            try Ledger.giveBackReserve(of: spool)
            return try make(in: spool, clock: clock)
        }
    }

    private static func make(in spool: SpoolFolder, clock: SystemClock) throws(SpoolError) -> Worker {
        for _ in 0..<8 {
            let name = "\(getpid())-\(SpoolFolder.randomText())"
            let made: WorkerLock?
            do throws(SystemError) {
                made = try WorkerLock.make(folder: spool.claimed, named: name)
            } catch {
                throw SpoolError(error)
            }
            if let made { return Worker(spool: spool, name: name, lock: made, clock: clock) }
        }
        throw SpoolError(
            .lockLost,
            path: spool.claimed,
            detail: "a worker's folder cannot be made: somebody removes it again and again"
        )
    }

    /// Whether the worker's lock file is still in place; a worker without it stops, for others may take its claims.
    package var isStillHeld: Bool { lock.isHeld }

    /// Throws `lockLost` when the worker must stop.
    package func checkLock() throws(SpoolError) {
        guard isStillHeld else { throw lost }
    }

    /// Where a claimed segment is.
    package func path(of segment: SegmentName) -> String { "\(folder)/\(segment.sealedFileName)" }

    /// Takes the next segment: first what was adopted, then the oldest in `ready/`.
    ///
    /// - Returns: nil when there is nothing to claim.
    /// - Throws: `lockLost` when the worker must stop.
    package func claimNext() throws(SpoolError) -> Claim? {
        try checkLock()
        let now = clock.monotonicNanoseconds()
        return try state.withLock { (state) throws(SpoolError) in
            guard !state.isClosed else { throw SpoolError(.closed, path: folder, detail: "the worker is closed") }
            if !state.adopted.isEmpty {
                let segment = state.adopted.removeFirst()
                return Claim(segment: segment, path: path(of: segment), isAdopted: true)
            }
            return try spoolCall { () throws(SystemError) in try claimReady(&state, at: now) }
        }
    }

    private func claimReady(_ state: inout State, at now: Int64) throws(SystemError) -> Claim? {
        while let segment = try state.ready.next(at: now, ignored: &state.ignored) {
            let source = spool.ready(segment)
            let target = path(of: segment)
            do throws(SystemError) {
                if let reason = try FileStatus(of: source).reasonToIgnore {
                    state.ready.skip(segment)
                    state.ignored.note(segment.sealedFileName, in: spool.ready, reason: reason)
                    continue
                }
                try FileSystem.move(source, to: target)
            } catch {
                // Gone: another relay was faster.
                if error.errno == ENOENT { continue }
                guard error.errno == EPERM || error.errno == EACCES || error.errno == EIO else {
                    state.ready.giveBack(segment)
                    throw error
                }
                // Something is wrong with this one, such as an attribute that forbids to move it; others follow.
                state.ready.skip(segment, until: now + Self.skipTime)
                let cause = SpoolError(error)
                state.ignored.note(segment.sealedFileName, in: spool.ready, reason: .unreadable, cause: cause)
                continue
            }
            state.held.insert(segment)
            return Claim(segment: segment, path: target, isAdopted: false)
        }
        return nil
    }

    /// Puts a claimed segment back for others; its progress stays.
    ///
    /// - Returns: false when it was no longer here.
    @discardableResult
    package func release(_ segment: SegmentName) throws(SpoolError) -> Bool {
        do throws(SystemError) {
            try FileSystem.move(path(of: segment), to: spool.ready(segment))
        } catch {
            guard error.errno == ENOENT else { throw SpoolError(error) }
            state.withLock { _ = $0.held.remove(segment) }
            return false
        }
        state.withLock { state in
            state.held.remove(segment)
            state.ready.forget()
        }
        return true
    }

    /// Leaves a segment in `ready/`: one of a later version for good, another for a while.
    package func setAside(_ segment: SegmentName, reason: IgnoredFile.Reason) throws(SpoolError) {
        try release(segment)
        state.withLock { state in
            let until = reason == .laterVersion ? .max : clock.monotonicNanoseconds() + Self.skipTime
            state.ready.skip(segment, until: until)
            state.ignored.note(segment.sealedFileName, in: spool.ready, reason: reason)
        }
    }

    /// Removes a claimed segment, then its progress: only after its `finished` line is synced.
    package func remove(_ segment: SegmentName) throws(SpoolError) {
        _ = try spoolCall { () throws(SystemError) in try FileSystem.removeIfPresent(path(of: segment)) }
        // Progress without a segment means nothing; a later start removes it.
        _ = try? FileSystem.removeIfPresent(spool.progress(segment))
        state.withLock { _ = $0.held.remove(segment) }
    }

    /// Puts all claims back and removes the folder.
    ///
    /// - Returns: how many claims were put back.
    @discardableResult
    package func close() throws(SpoolError) -> Int {
        let held = state.withLock { state in
            state.isClosed = true
            state.adopted.removeAll()
            return state.held.sorted()
        }
        // Without the lock the claims are somebody else's.
        guard isStillHeld else { return 0 }
        var count = 0
        for segment in held where try release(segment) { count += 1 }
        try spoolCall { () throws(SystemError) in
            try Self.dismantle(folder)
            try lock.file.unlock()
        }
        return count
    }

    /// Removes the folder of a worker whose lock the caller holds, unless something is left in it.
    static func dismantle(_ folder: String) throws(SystemError) {
        var names = try FileSystem.names(in: folder)
        names.removeAll { $0.utf8.elementsEqual(WorkerLock.name.utf8) }
        // Half-made locks of adopters that were killed, and what stood in a lock's place; a folder only when it is empty.
        for name in names where name.utf8.starts(with: WorkerLock.hiddenPrefix.utf8) {
            let path = "\(folder)/\(name)"
            guard let status = try? FileStatus(of: path) else { continue }  // gone already
            if status.isFolder {
                _ = try? FileSystem.removeFolder(path)  // with something in it, it keeps the worker's folder too
            } else {
                try FileSystem.removeIfPresent(path)
            }
        }
        guard names.allSatisfy({ $0.utf8.starts(with: SegmentName.newPrefix.utf8) }) else { return }
        try FileSystem.removeIfPresent("\(folder)/\(WorkerLock.name)")
        do throws(SystemError) {
            try FileSystem.removeFolder(folder)
        } catch {
            if error.errno != ENOENT && error.errno != ENOTEMPTY && error.errno != EEXIST { throw error }
        }
    }

    /// Names that were left alone since the last call, each told once.
    package func takeIgnored() -> [IgnoredFile] { state.withLock { $0.ignored.takeUntold() } }

    /// Why claims of other workers could not be taken over since the last call.
    package func takeProblems() -> [SpoolError] {
        state.withLock { state in
            defer { state.problems = [] }
            return state.problems
        }
    }

    /// Names that were left alone so far, each counted once.
    package var ignoredCount: Int { state.withLock { $0.ignored.count } }

    private var lost: SpoolError {
        SpoolError(
            .lockLost,
            path: "\(folder)/\(WorkerLock.name)",
            detail: "the worker's lock file is gone or was replaced, so another relay may take its claims"
        )
    }
}

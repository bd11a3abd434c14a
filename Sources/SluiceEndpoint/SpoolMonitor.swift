// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry
internal import Synchronization

/// Knows whether events can be stored, and tells health and log when that changes.
///
/// Commits are the best witness. While they fail, or when there are none, it tries by itself: a load balancer sends
/// nothing to an endpoint that is not ready, so no commit would ever tell that there is room again.
final class SpoolMonitor: Sendable {
    private static let tickNanoseconds: Int64 = 1_000_000_000
    private static let idleNanoseconds: Int64 = 10_000_000_000
    private static let probeBytes = 64 << 10

    private let spool: SpoolFolder
    private let options: SegmentWriterOptions
    private let clock: SystemClock
    private let clockGuard: ClockGuard
    private let health: Health
    private let logger: Logger
    private let refusal: @Sendable () -> SpoolError?
    private let isBad = Atomic<Bool>(false)
    private let lastSuccess: Atomic<Int64>
    private let lock = ThreadLock()
    private let wake: ThreadCondition
    private let isStopped = Atomic<Bool>(false)

    /// Makes a monitor; `refusal` is what the writer answers with at the moment.
    init(
        spool: SpoolFolder,
        options: SegmentWriterOptions,
        clock: SystemClock,
        clockGuard: ClockGuard,
        health: Health,
        logger: Logger,
        refusal: @escaping @Sendable () -> SpoolError?
    ) {
        self.spool = spool
        self.options = options
        self.clock = clock
        self.clockGuard = clockGuard
        self.health = health
        self.logger = logger
        self.refusal = refusal
        lastSuccess = Atomic(clock.monotonicNanoseconds())
        wake = ThreadCondition(with: lock)
    }

    /// Starts looking on a thread of its own.
    func start() {
        let heartbeat = health.heartbeat("monitor", limitSeconds: 60)
        _ = SystemThread(name: "sluice-monitor") { self.run(heartbeat) }
    }

    /// Ends the thread, which may be waiting for a disk that does not answer.
    func stop() {
        lock.lock()
        isStopped.store(true, ordering: .relaxed)
        wake.broadcast()
        lock.unlock()
    }

    // MARK: - What others see

    func succeeded() {
        lastSuccess.store(clock.monotonicNanoseconds(), ordering: .relaxed)
        guard isBad.load(ordering: .relaxed), isBad.exchange(false, ordering: .acquiringAndReleasing) else { return }
        health.clear("spool")
        logger.notice("Spool takes events again")
    }

    func failed(_ error: SpoolError) {
        health.report("spool", error.description)
        if isBad.exchange(true, ordering: .acquiringAndReleasing) { return }
        logger.error(
            "Spool takes no events",
            metadata: ["error.code": .string(error.code.rawValue), "error": .string(error.description)]
        )
    }

    // MARK: - Looking

    private func run(_ heartbeat: Heartbeat) {
        var room = SpoolRoom(root: spool.root, options: options)
        var hasClockProblem = false
        while !isStopped.load(ordering: .relaxed) {
            // A disk that does not answer is no reason to start the program again.
            heartbeat.rest()
            look(&room)
            heartbeat.beat()
            let problem = clockGuard.problem
            if let problem { health.report("clock", problem) } else if hasClockProblem { health.clear("clock") }
            if problem != nil && !hasClockProblem { logger.critical("The server's clock is wrong; nothing is taken") }
            hasClockProblem = problem != nil
            lock.lock()
            if !isStopped.load(ordering: .relaxed) { wake.wait(nanoseconds: Self.tickNanoseconds) }
            lock.unlock()
        }
        heartbeat.rest()
    }

    private func look(_ room: inout SpoolRoom) {
        let silence = clock.monotonicNanoseconds() - lastSuccess.load(ordering: .relaxed)
        guard isBad.load(ordering: .relaxed) || silence >= Self.idleNanoseconds else { return }
        do throws(SpoolError) {
            try room.check(adding: Self.probeBytes, clock: clock)
            try probe()
            // A commit that hangs, or the pause after a failure.
            if refusal() == nil { succeeded() }
        } catch {
            failed(error)
        }
    }

    /// Writes as a commit does, beside the segments.
    private func probe() throws(SpoolError) {
        do throws(SystemError) {
            let path = "\(spool.incoming)/.new-probe-\(getpid())"
            try FileSystem.removeIfPresent(path)
            let file = try File(opening: path, O_RDWR | O_CREAT | O_EXCL)
            defer { try? FileSystem.remove(path) }  // recovery takes it away later
            try file.reserve(from: 0, count: Self.probeBytes)
            try file.write("probe\n")
            try file.syncData()
            _ = try FileStatus(of: spool.ready)
        } catch {
            throw SpoolError(error)
        }
    }
}

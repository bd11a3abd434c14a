// SPDX-License-Identifier: Apache-2.0
internal import SluiceGraphJSON
package import SluiceHTTP
internal import SluiceJSON
package import SluiceSpool
package import SluiceSystem
package import SluiceTelemetry

/// How a relay's run ended.
package struct RelaySummary: Sendable, Equatable {
    package var counts = OutcomeCounts()
    package var segments = 0
    /// Requests that were answered or failed.
    package var requests = 0
    /// Damage was met; what could not be read is in quarantine.
    package var metDamage = false
    /// The destination refuses everything; the reason.
    package var halt: String?
    /// Work is left: held, waiting for the destination, or claimed by others.
    package var isWorkLeft = false
    package var seconds = 0.0

    package init() {}
}

/// Delivers the spool: claims segments, groups their records into requests, and sees each record to its outcome.
///
/// One thread owns everything here and calls `run`; the HTTP client has a thread of its own, and both meet in its
/// inbox. Each turn of the loop takes answers, writes down what they decided, and only then sends more: a kill at
/// any moment makes at most the requests under way go out twice.
package final class Relay {
    var options: RelayOptions
    let folder: SpoolFolder
    let clock: SystemClock
    let logger: Logger
    let metrics: RelayMetrics
    let ledger: Ledger
    let worker: Worker
    let heartbeat: Heartbeat?
    let apiKey: () -> String?
    let url: String
    let control: RelayControl
    let client: HTTPClient
    let headers: HTTPHeaderList

    // Claims
    var segments: [ClaimedSegment?] = []
    var freeSlots: [Int32] = []
    var claimCount = 0
    var touched: [ClaimedSegment] = []
    var finishing: [ClaimedSegment] = []
    var nextFinishAt: Int64 = .min
    var nextScanAt: Int64 = .min
    var nextAdoptionAt: Int64 = .min
    var nextSyncAt: Int64 = .min
    private var nextLockCheckAt: Int64 = .min
    var wasReadyEmpty = false
    /// No further claim can be made at present, such as on a full disk.
    var isClaimingStuck = false
    /// Something that dead writers or relays left could not be taken over when that was tried last.
    var isRecoveryStuck = false
    /// Segments that are to go back to `ready/` and could not be moved yet.
    var misplaced: [(segment: SegmentName, reason: IgnoredFile.Reason)] = []
    var nextFoldAt: Int64 = .min
    /// Problems with files that are left where they are; each is told once.
    var toldProblems: Set<SpoolError> = []
    /// What does not work at present, and since when it has not.
    var spells: [SpoolFault: FaultSpell] = [:]

    // Reading
    var reading: SegmentCursor?
    /// Segments whose file could not be read on, or whose damage found no place in quarantine, to be tried again.
    var interrupted: [SegmentCursor] = []
    var nextInterruptedAt: Int64 = .min
    let parser = JSONParser(maximumBytes: 64 << 20)
    let quarantineParser = JSONParser(maximumBytes: 64 << 20, maximumDepth: 32)
    let transform: EventTransform
    /// Records whose events are made, with the events' texts.
    var staged: [Staged] = []
    var stagedTexts = ByteBuffer(capacity: 64 << 10)
    var identity = EventIdentity()
    var collections: [[UInt8]] = []
    var collectionNumbers: [[UInt8]: Int32] = [:]
    var lastCollection: Int32 = -1
    var clockWatch = ClockWatch()
    var mayExpire = true

    // Records under way
    var grouper = Grouper()
    var queue = ChunkQueue()
    var pendingBytes = 0
    var fingerprints = FingerprintTable()
    var waiting: [UInt64: [RecordReference]] = [:]
    var window: DuplicateWindow?
    /// Refused records, until the destination is known to take others.
    var held: [Chunk] = []
    /// So much waits for room in quarantine that nothing more is read.
    var isQuarantineStuck = false
    /// When quarantine is tried again after a failure.
    var nextQuarantineAt: Int64 = .min
    var flights: [Flight?] = []
    var freeFlights: [Int] = []
    var destination: Destination
    var completions: [HTTPCompletion] = []
    var lastProbe: (slot: Int32, event: UInt32) = (-1, 0)
    /// Whose records are to be forgotten.
    let erasures: ErasureList
    /// Records of listed persons may stand in quarantine.
    var wantsSweep = false
    var nextSweepAt: Int64 = .min
    var unescaped = ByteBuffer()
    let gateFile: GateFile
    let destinationNumber: UInt64
    var nextGateAt: Int64 = .min
    /// The closure is another relay's finding.
    var isClosureAdopted = false
    /// What the gate file said when it was last looked at; a closure is taken over once, whatever the clock does then.
    var lastGate: Gate?
    var knownHasTakenRecords = false
    /// Records that keep failing alone, as the gate file knows them.
    var suspects: [RecordOrigin: Gate.Suspect] = [:]
    var random = SystemRandomNumberGenerator()
    var frameCache: FrameCache?

    var summary = RelaySummary()
    var lastDeliveryAt: Int64 = 0
    var lastTotal = 0
    var lastOutcomeAt: Int64 = 0
    var startedAt: Int64 = 0
    var stoppedAt: Int64?
    /// It was asked to stop, and empties the spool before it does.
    var isEmptying = false
    var emptyingBeganAt: Int64?
    var sawNothingWritten = false
    var classifier: AnswerClassifier
    var encoder: RequestEncoder
    /// The events of the request that is being written.
    var eventTexts: [UnsafeRawBufferPointer] = []
    var eventTimestamps: [Int] = []
    /// Told the records resolved so far, at most ten times a second.
    package var onProgress: ((Int) -> Void)?
    private var nextReportAt: Int64 = .min
    /// Told why the destination is closed whenever that changes; nil when it is open.
    package var onRoad: ((String?) -> Void)?

    /// A request that is under way.
    struct Flight {
        var chunk: Chunk
        var startedAt: Int64
        var isProbe: Bool
    }

    /// Opens the books of a spool and takes a worker's folder in it.
    ///
    /// - Parameters:
    ///   - options: can be changed later through `control`.
    ///   - folder: the spool.
    ///   - configuration: deadlines and limits of requests.
    ///   - apiKey: reads the key again each time it is called; nil when there is none.
    ///   - control: what other threads speak to the relay through.
    ///   - clock: where time comes from.
    ///   - logger: never told a key, an identifier or an event's content.
    ///   - metrics: what is counted.
    ///   - heartbeat: beats each turn of the loop.
    /// - Throws: `SpoolError` when the spool can't be used; nothing has been claimed then.
    package init(
        options: RelayOptions,
        folder: SpoolFolder,
        client configuration: HTTPClientConfiguration,
        apiKey: @escaping () -> String?,
        control: RelayControl,
        clock: SystemClock = .system,
        logger: Logger,
        metrics: RelayMetrics,
        heartbeat: Heartbeat? = nil
    ) throws(SpoolError) {
        self.options = options
        self.folder = folder
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        self.apiKey = apiKey
        self.heartbeat = heartbeat
        url = options.target.url(for: options.bulk)
        let key = apiKey() ?? ""
        classifier = AnswerClassifier(apiKey: key, clock: clock)
        encoder = RequestEncoder(shape: options.bulk, apiKey: key)
        self.control = control
        let signal = control.signal
        transform = EventTransform(timestampPrecision: options.timestampPrecision)
        ledger = try Ledger(in: folder, clock: clock)
        worker = try Worker.start(in: folder, clock: clock)
        gateFile = GateFile(in: folder)
        erasures = ErasureList(in: folder)
        destinationNumber = Array(options.target.base.utf8).withUnsafeBytes { Checksum.xxh3($0) }
        destination = Destination(options: options, hasTakenRecords: false)
        headers = HTTPHeaderList([("Content-Type", "application/json")])
        client = HTTPClient(configuration, clock: clock) { signal.raise() }
    }

    /// Works until the relay is stopped or, as a drain, until nothing is left that it could do.
    ///
    /// - Returns: what was done; every claim that is not finished is back in `ready/`.
    /// - Throws: `SpoolError` when the spool itself can no longer be used.
    package func run() throws -> RelaySummary {
        startedAt = clock.monotonicNanoseconds()
        lastDeliveryAt = startedAt
        lastOutcomeAt = startedAt
        readKey()
        defer { client.close() }
        do {
            try begin()
            while try turn() {}
        } catch {
            awaitAnswers()
            closeWorker()
            throw error
        }
        end()
        summary.seconds = Double(clock.monotonicNanoseconds() - startedAt) / 1e9
        return summary
    }

    var isStopping: Bool { control.isStopping && !isEmptying }

    // MARK: Course

    /// One turn of the loop; false when there shall be no other.
    private func turn() throws -> Bool {
        let now = clock.monotonicNanoseconds()
        heartbeat?.beat()
        takeAnswers(now)
        saveProgress(now)
        finishSegments(now)
        considerEmptying(now)
        if hasEnded(now) { return false }
        try maintain(now)
        queue.promote(at: now)
        let isReading = try read(now)
        closeGroups(now)
        try sendReady(now)
        report(now)
        if !isReading && !hasEnded(now) { control.signal.wait(nanoseconds: waitTime(now)) }
        return true
    }

    /// Waits for the requests under way when the spool can't be used any more, so that their outcomes are noted where
    /// that is still possible.
    private func awaitAnswers() {
        let limit = clock.monotonicNanoseconds() + Int64(options.shutdownGraceSeconds * 1e9)
        var now = clock.monotonicNanoseconds()
        while destination.inFlight > 0 && now < limit && !control.isGivingUp {
            control.signal.wait(nanoseconds: limit - now)
            now = clock.monotonicNanoseconds()
            takeAnswers(now)
        }
        saveProgress(now)
    }

    private func begin() throws {
        try refreshErasures()
        wantsSweep = !erasures.book.isSwept
        openWindow()
        readGate(clock.monotonicNanoseconds())
        tidy()
        forgetFinishedSuspects()
        adopt(clock.monotonicNanoseconds())
    }

    /// Opens the duplicate window; without room for one the relay works without it.
    private func openWindow(seed: UInt64 = .random(in: .min ... .max)) {
        guard options.duplicateWindow > 0 else { return }
        do throws(SpoolError) {
            window = try DuplicateWindow.open(
                in: folder,
                destination: destinationNumber,
                capacity: options.duplicateWindow,
                seed: seed
            )
        } catch {
            logger.warning("No duplicate window: repeats may be sent", metadata: ["error": .string(error.description)])
        }
    }

    /// Completes what killed processes left half done; where that fails, a later start tries again.
    private func tidy() {
        do throws(SpoolError) {
            try Progress.removeOrphans(in: folder, ledger: ledger)
        } catch {
            logger.warning("Progress not tidied", metadata: ["error": .string(error.description)])
        }
        do throws(SpoolError) {
            let completed = try QuarantineEditor(in: folder, ledger: ledger).completeInterrupted()
            if completed > 0 { logger.notice("Interrupted replay completed", metadata: ["moves": .integer(completed)]) }
        } catch {
            logger.warning("Leftovers not tidied", metadata: ["error": .string(error.description)])
        }
    }

    /// Opens the duplicate window anew when its file was cut off, replaced or removed.
    private func checkWindow() {
        guard let window, !window.isInPlace else { return }
        self.window = nil
        logger.warning("The duplicate window is gone and begins anew: repeats may be sent")
        openWindow(seed: window.seed)
    }

    private func maintain(_ now: Int64) throws {
        if now >= nextLockCheckAt {
            nextLockCheckAt = now + 1_000_000_000
            try worker.checkLock()
            checkWindow()
        }
        if let options = control.takeReload() { apply(options, now) }
        try refreshErasures()
        sweepQuarantine(now)
        mayExpire = clockWatch.mayExpire(wallMilliseconds: clock.wallMilliseconds(), monotonic: now)
        readGate(now)
        adopt(now)
        syncProgress(now)
        metrics.inFlight.record(destination.inFlight)
        metrics.concurrencyLimit.record(destination.limit)
        metrics.halted.record(destination.isHalted ? 1 : 0)
        metrics.backoffSeconds.record(destination.closure.map { max(0, Double($0.until - now) / 1e9) } ?? 0)
    }

    /// Takes over what may change while events are grouped: not where they go and in what form.
    private func apply(_ options: RelayOptions, _ now: Int64) {
        var options = options
        let current = self.options
        if options.target != current.target || options.bulk != current.bulk
            || options.timestampPrecision != current.timestampPrecision
        {
            logger.warning(
                "graphjson.url, graphjson.bulk and graphjson.timestamp_precision_s change with the next start only"
            )
            options.target = current.target
            options.bulk = current.bulk
            options.timestampPrecision = current.timestampPrecision
        }
        self.options = options
        destination.apply(options)
        readKey()
        destination.probeNow(at: now)
    }

    private func report(_ now: Int64) {
        guard let onProgress, now >= nextReportAt else { return }
        nextReportAt = now + 100_000_000
        onProgress(summary.counts.total)
    }

    /// How long the loop may sleep.
    private func waitTime(_ now: Int64) -> Int64 {
        var until = now + 1_000_000_000
        func consider(_ moment: Int64?) { if let moment { until = min(until, moment) } }
        consider(queue.nextDue)
        if let closure = destination.closure, !queue.isEmpty || !held.isEmpty { consider(max(closure.until, now + 1)) }
        if !isDrain, let oldest = grouper.oldestOpen { consider(oldest.openedAt + lingerNanoseconds) }
        if reading == nil, claimCount < options.maximumClaims { consider(nextScanAt) }
        if !finishing.isEmpty { consider(nextFinishAt) }
        return until <= now ? 0 : until - now
    }

    var isDrain: Bool { options.mode != .run || isEmptying }
    var lingerNanoseconds: Int64 { Int64(options.lingerSeconds * 1e9) }
    func randomUnit() -> Double { Double.random(in: 0..<1, using: &random) }
}

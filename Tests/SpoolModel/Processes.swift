// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry
internal import SluiceTestSupport

/// Runs the real programs' parts on one spool, and notes what the model must know.
final class Processes {
    let root: String
    let records: ModelRecords
    let clock: ModelClock
    let upstream: ModelUpstream
    let mark: @Sendable (Mark) -> Void
    let log = LogRecorder()
    var random: SeededGenerator
    let spool: SpoolFolder
    private var writer: SegmentWriter?
    /// The writer seals a segment after each request.
    private var sealsEach = false
    /// Records of requests that wait for their answers.
    private let pending = PendingRequests()
    /// How many relays and workers there were.
    var relayCount = 0

    /// Starts in the spool at `root`, which is made if it is not there.
    init(
        root: String,
        records: ModelRecords,
        clock: ModelClock,
        upstream: ModelUpstream,
        random: SeededGenerator,
        mark: @escaping @Sendable (Mark) -> Void
    ) throws {
        self.root = root
        self.records = records
        self.clock = clock
        self.upstream = upstream
        self.random = random
        self.mark = mark
        spool = try SpoolFolder.open(root, role: .writer)
    }

    /// What the relays had to say, for reports.
    var complaints: [String] { log.entries.map { "\($0.message) \($0.metadata)" } }

    /// Ends everything that still runs.
    func close() {
        writer?.stop()
        writer = nil
    }

    // MARK: Writing

    private func startedWriter() throws -> SegmentWriter {
        if let writer { return writer }
        let ledger = try Ledger(in: spool, clock: clock.clock)
        var options = SegmentWriterOptions()
        // Ages are looked at by a thread of its own, whose moments no seed decides.
        options.sealAge = .seconds(1_000_000)
        sealsEach = random.oneIn(3)
        if sealsEach { options.sealBytes = 1 }
        var handlers = SegmentWriter.Handlers()
        handlers.completed = { [mark, pending] completion in
            for token in completion.tokens {
                let serials = pending.take(token)
                if completion.error == nil { mark(.acknowledged(serials)) }
            }
        }
        let started = SegmentWriter(
            spool: spool,
            ledger: ledger,
            options: options,
            clock: clock.clock,
            handlers: handlers
        )
        writer = started
        return started
    }

    /// Hands over one request and waits for its answer.
    func append(_ group: [ModelRecord]) throws {
        let writer = try startedWriter()
        let token = UInt(group[0].serial)
        pending.put(token, group.map(\.serial))
        try Self.withLines(of: group) {
            _ = try writer.append($0, count: group.count, receivedAt: clock.wallSeconds, token: token)
        }
        try writer.flush()
        // Whatever is large enough is sealed before this thread goes on, so that the calls' order is the seed's.
        let limit = SystemClock.system.monotonicNanoseconds() + 10_000_000_000
        while sealsEach {
            guard SystemClock.system.monotonicNanoseconds() < limit else {
                return mark(.fault("a segment that was due was not sealed"))
            }
            let done = writer.statistics
            if done.sealedSegments + done.abandonedSegments + done.lostSegments >= done.commits { return }
            usleep(100)
        }
    }

    /// Seals what is open and ends the writer; the next one has another name.
    func stopWriter() {
        writer?.stop()
        writer = nil
    }

    static func withLines(of records: [ModelRecord], _ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        var text = records.map { $0.line + "\n" }.joined()
        try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
    }
}

/// The records of each request that is not answered yet.
final class PendingRequests: Sendable {
    private let requests = Lock<[UInt: [Int]]>([:])

    func put(_ token: UInt, _ serials: [Int]) { requests.withLock { $0[token] = serials } }

    func take(_ token: UInt) -> [Int] { requests.withLock { $0.removeValue(forKey: token) ?? [] } }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceServer
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry

/// Takes requests: decides on the head, judges the body on the server's thread, hands the records to the writer and lets the
/// connection wait for its commit.
final class RequestDesk: Sendable {
    let metrics: EndpointMetrics
    let budget: BodyBudget
    let names = RequestNames()
    let limits: RateLimits
    let clock: SystemClock
    let clockGuard: ClockGuard
    let logger: Logger
    /// Removed names that one request adds to the tally: enough for a full batch of an honest client.
    private static let tallyNamesPerRequest = 512

    private let workers: WorkerPool
    private let writer: SegmentWriter
    private let current: Lock<EndpointPolicy>

    init(
        policy: EndpointPolicy,
        writer: SegmentWriter,
        metrics: EndpointMetrics,
        clockGuard: ClockGuard,
        clock: SystemClock,
        logger: Logger
    ) {
        current = Lock(policy)
        self.writer = writer
        self.metrics = metrics
        self.clockGuard = clockGuard
        self.clock = clock
        self.logger = logger
        budget = BodyBudget(clock: clock)
        limits = RateLimits(clock: clock)
        workers = WorkerPool(seed: limits.seed)
    }

    var policy: EndpointPolicy {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    var handler: ServerHandler {
        var handler = ServerHandler(
            head: { self.head($0) },
            complete: { self.complete($0) },
            refusal: { .refusal($0, self.names.make()) }
        )
        handler.piece = { self.piece($0, $1) }
        handler.ended = { request in
            if let state = request.context as? RequestState { self.budget.release(state) }
        }
        handler.answered = { self.metrics.answered($0) }
        return handler
    }

    // MARK: - The body

    private func piece(_ request: ServerRequest, _ count: Int) -> ServerAnswer? {
        guard let state = request.context as? RequestState else { return nil }
        switch budget.charge(state, count) {
        case .charged: return nil
        case .addressSpent: return refuse(.addressOverloaded)
        case .spent(let slowest):
            if let slowest {
                metrics.closedBodies.increment()
                logger.warning("Memory for bodies is spent; the slowest body is given up")
                slowest.abort()
            }
            return refuse(.overloaded)
        }
    }

    private func complete(_ request: ServerRequest) -> ServerHandler.Outcome {
        guard let state = request.context as? RequestState else { return .answer(refuse(.notFound)) }
        let worker = workers.take(state.policy.limits)
        defer { workers.give(worker) }
        metrics.receivedBytes.increment(by: request.bytes.count)
        guard state.isCompressed else { return judge(request.bytes, state, worker) }
        do throws(InflateFault) {
            try worker.inflater.inflate(
                request.bytes,
                maximumBytes: state.policy.limits.maximumBodyBytes,
                maximumRatio: state.policy.settings.maximumInflationRatio,
                into: &worker.inflated
            ) { bytes in
                if case .charged = budget.charge(state, bytes) { return true }
                return false
            }
        } catch {
            takeOne(state)
            switch error {
            case .damaged: return .answer(refuse(.invalidGzip))
            case .tooLarge: return .answer(refuse(.bodyTooLarge))
            case .ratio: return .answer(refuse(.inflationRatio))
            case .noRoom: return .answer(refuse(.overloaded))
            }
        }
        return judge(worker.inflated.bytes, state, worker)
    }

    private func judge(
        _ body: UnsafeRawBufferPointer,
        _ state: RequestState,
        _ worker: JudgeWorker
    ) -> ServerHandler.Outcome {
        let policy = state.policy
        let now = clock.wallSeconds
        if clockGuard.problem(at: now) != nil { return .answer(refuse(.clockWrong)) }
        let name = names.make()
        do throws(BatchRefusal) {
            try worker.judge.judge(
                body,
                under: state.admission(receivedAt: now),
                by: policy.contract,
                records: &worker.records,
                verdict: &worker.verdict
            )
        } catch {
            takeOne(state)
            return .answer(answer(error, name, worker))
        }
        if let refusal = limits.take(worker.verdict, address: state.addressKey, user: state.userKey, policy) {
            return .answer(rateLimited(refusal))
        }
        let tally = self.tally(worker, policy, state)
        worker.verdict.appendAnswer(requestID: name, to: &worker.answer)
        let answer = ServerAnswer(status: 200, contentType: "application/json", bytes: worker.answer.bytes)
        if worker.records.isEmpty {
            tally.commit()
            return .answer(answer)
        }
        budget.settle(state, worker.records.count)
        return write(worker, PendingRequest(ticket: state.ticket, answer: answer, requestID: name, tally: tally), now)
    }

    private func write(_ worker: JudgeWorker, _ pending: PendingRequest, _ now: Int) -> ServerHandler.Outcome {
        let token = pending.token
        do throws(SpoolError) {
            try writer.append(
                worker.records.bytes,
                count: worker.verdict.accepted + worker.verdict.quarantined,
                receivedAt: now,
                token: token
            )
            return .later
        } catch {
            _ = PendingRequest.take(token)
            return .answer(refuse(RequestFault(error)))
        }
    }

    /// Answers a group of requests whose commit ended; on the writer's threads.
    static func complete(_ completion: CommitCompletion) {
        let fault = completion.error.map { RequestFault($0) }
        for token in completion.tokens {
            guard let pending = PendingRequest.take(token) else { continue }
            if let fault {
                pending.ticket.answer(.fault(fault, pending.requestID))
            } else {
                // Counted although the client may be gone: the events are here.
                pending.tally.commit()
                pending.ticket.answer(pending.answer)
            }
        }
    }

    // MARK: - Answers

    func refuse(_ fault: RequestFault, headers: [(name: String, value: String)] = []) -> ServerAnswer {
        metrics.refusedBodies[fault.rawValue].increment()
        return .fault(fault, names.make(), headers: headers)
    }

    func rateLimited(_ refusal: RateLimits.Refusal) -> ServerAnswer {
        metrics.rateLimited[refusal.key.rawValue].increment()
        metrics.refusedBodies[RequestFault.rateLimited.rawValue].increment()
        let seconds = Int(min(3600, max(1, refusal.seconds.rounded(.up))))
        return .fault(.rateLimited, names.make(), retrySeconds: seconds)
    }

    private func takeOne(_ state: RequestState) {
        if let key = state.addressKey { limits.takeOne(address: key, state.policy.rateLimits.address) }
    }

    private func answer(_ refusal: BatchRefusal, _ name: String, _ worker: JudgeWorker) -> ServerAnswer {
        metrics.refusedBodies[refusal.code.rawValue].increment()
        refusal.appendAnswer(requestID: name, to: &worker.answer)
        return ServerAnswer(
            status: refusal.status,
            contentType: "application/json",
            bytes: worker.answer.bytes,
            headers: refusal.status == 503 ? [("Retry-After", "2")] : []
        )
    }

    // MARK: - Counting

    private func tally(_ worker: JudgeWorker, _ policy: EndpointPolicy, _ state: RequestState) -> VerdictTally {
        var tally = VerdictTally()
        let accepted = metrics.accepted(by: policy.contract)
        if worker.counts.count < accepted.count { worker.counts = [Int](repeating: 0, count: accepted.count) }
        for event in worker.verdict.events {
            if event.outcome == .accepted && event.event >= 0 {
                worker.counts[Int(event.event)] += 1
            } else {
                tally.add(counter(event, policy.contract))
            }
        }
        for number in accepted.indices where worker.counts[number] > 0 {
            tally.add(accepted[number], worker.counts[number])
            worker.counts[number] = 0
        }
        let verdict = worker.verdict.counts
        let client = String(decoding: policy.profiles[state.profile].name, as: UTF8.self)
        tally.add(metrics.clientEvents[client.isEmpty ? "none" : client], verdict.taken)
        tally.add(metrics.removedNames, verdict.removedNames)
        noteRemovedNames(worker)
        tally.add(metrics.clampedTimestamps, verdict.clamped)
        tally.add(metrics.unprovenUsers, verdict.unprovenUsers)
        tally.add(metrics.userMismatches, verdict.userMismatches)
        tally.add(metrics.unknownBatchFields, verdict.unknownBatchFields)
        metrics.add(worker.verdict.clientDrops)
        return tally
    }

    /// Names of fields and properties that show an operator what a release sends too much; a request adds a few at most.
    private func noteRemovedNames(_ worker: JudgeWorker) {
        guard !worker.verdict.removedNames.isEmpty else { return }
        metrics.removedNameTally.withLock { tally in
            for name in worker.verdict.removedNames.prefix(Self.tallyNamesPerRequest) {
                tally.add(worker.verdict.bytes(name))
            }
        }
    }

    private func counter(_ event: EventVerdict, _ contract: Contract) -> Counter {
        let name = event.event >= 0 ? contract.definition.events[Int(event.event)].name : "unlisted"
        let result = event.outcome == .quarantined ? "quarantined" : "rejected"
        return metrics.events[name, result, "\(event.code.text)"]
    }
}

extension BatchVerdict {
    fileprivate struct Counts {
        var taken: Int
        var removedNames: Int
        var clamped: Int
        var unprovenUsers: Int
        var userMismatches: Int
        var unknownBatchFields: Int
    }

    fileprivate var counts: Counts {
        Counts(
            taken: accepted + quarantined,
            removedNames: removedNames.count,
            clamped: clamped,
            unprovenUsers: unprovenUsers,
            userMismatches: userMismatches,
            unknownBatchFields: unknownBatchFields
        )
    }
}

extension RequestFault {
    init(_ error: SpoolError) {
        switch error.code {
        case .tooLarge: self = .recordsTooLarge
        case .overloaded: self = .overloaded
        case .outOfSpace: self = .outOfSpace
        case .stalled: self = .stalled
        case .closed: self = .stopping
        default: self = .writeFailed
        }
    }
}

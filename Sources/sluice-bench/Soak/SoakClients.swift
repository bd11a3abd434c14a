// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSoak
import SluiceSystem
import Synchronization

/// All clients, on one thread, at a steady rate; and what was acknowledged, a byte for each batch.
///
/// `@unchecked Sendable`: everything but the atomics belongs to the thread; others look at it after `finish`.
final class SoakClients: @unchecked Sendable {
    enum BatchState: UInt8 {
        case unsent
        /// Sent, perhaps in part, and not acknowledged.
        case sent
        case acknowledged
    }

    private static let answerTimeout: Int64 = 20_000_000_000

    private let plan: SoakPlan
    private let port: UInt16
    private let states: MappedFile
    private let clients: [SoakClient]
    private var idle: [Int]
    private let poll: EventPoll
    private var random: SoakRandom
    private var allowance = 0.0
    private var nextTimeoutCheck: Int64 = 0
    private let finishBy = Atomic<Int64>(.max)
    private let acknowledgedEvents = Atomic<Int>(0)
    private let resetThousandths = Atomic<Int>(0)
    private var thread: SystemThread?

    /// Connections that the clients themselves reset.
    private(set) var resets = 0
    private(set) var requests = 0
    private(set) var answersByStatus: [Int: Int] = [:]
    private(set) var brokenConnections = 0
    /// Answers that were 200 and did not name the events.
    private(set) var wrongAnswers: [String] = []
    private(set) var wrongAnswerCount = 0

    init(plan: SoakPlan, port: UInt16, statesPath: String, seed: UInt64) throws {
        self.plan = plan
        self.port = port
        states = try MappedFile(creating: statesPath, count: plan.batches)
        clients = (0..<plan.clients).map { SoakClient(index: $0, plan: plan) }
        idle = Array(0..<plan.clients)
        poll = try EventPoll()
        random = SoakRandom(seed: seed)
    }

    // MARK: From other threads

    /// Events whose acknowledgement has come.
    var acknowledged: Int { acknowledgedEvents.load(ordering: .relaxed) }

    /// The share of requests, in thousandths, whose connection the client resets before it has the answer.
    func setResets(thousandths: Int) { resetThousandths.store(thousandths, ordering: .relaxed) }

    func start() { thread = SystemThread(name: "clients") { [self] in run() } }

    /// Begins no further batch, waits until all are acknowledged, at most for some seconds, and ends the thread.
    func finish(within seconds: Int) {
        let now = SystemClock.system.monotonicNanoseconds()
        finishBy.store(now + Int64(seconds) * 1_000_000_000, ordering: .relaxed)
        thread?.join()
        thread = nil
        for client in clients { client.drop() }
    }

    // MARK: After the end

    func state(ofBatch index: Int) -> BatchState { BatchState(rawValue: states.bytes[index]) ?? .unsent }

    /// Batches that were never acknowledged.
    var openBatches: Int { clients.count { $0.phase == .busy || $0.phase == .waiting } }

    // MARK: The loop

    private func run() {
        var last = SystemClock.system.monotonicNanoseconds()
        while true {
            poll.wait(milliseconds: 2) { look(at: clients[$0]) }
            let now = SystemClock.system.monotonicNanoseconds()
            let limit = finishBy.load(ordering: .relaxed)
            let isFinishing = limit != .max
            if now > limit || isFinishing && openBatches == 0 { return }
            repeatDue(now)
            allowance += Double(now - last) / 1e9 * Double(plan.eventsPerSecond)
            // What could not be posted for more than a second is not made up for.
            allowance = min(allowance, Double(max(plan.eventsPerSecond, plan.batch)))
            last = now
            if !isFinishing { beginBatches(now) }
        }
    }

    private func beginBatches(_ now: Int64) {
        var count = 0
        while allowance >= Double(plan.batch), count < idle.count {
            allowance -= Double(plan.batch)
            attempt(clients[idle[count]], now)
            count += 1
        }
        idle.removeFirst(count)
    }

    private func repeatDue(_ now: Int64) {
        let looksAtBusy = now >= nextTimeoutCheck
        if looksAtBusy { nextTimeoutCheck = now + 500_000_000 }
        for client in clients where now >= client.due {
            if client.phase == .waiting {
                attempt(client, now)
            } else if client.phase == .busy && looksAtBusy {
                fail(client, now)
            }
        }
    }

    private func attempt(_ client: SoakClient, _ now: Int64) {
        guard let isNew = client.connect(to: port) else { return wait(client, now, milliseconds: 50) }
        client.compose(sentAt: SystemClock.system.wallSeconds)
        let batch = client.firstNumber / plan.batch
        if states.bytes[batch] == BatchState.unsent.rawValue { states.bytes[batch] = BatchState.sent.rawValue }
        requests += 1
        client.phase = .busy
        client.due = now + Self.answerTimeout
        let thousandths = resetThousandths.load(ordering: .relaxed)
        if thousandths > 0, random.below(1000) < thousandths {
            // With the whole request out or a part of it.
            _ = client.push(upTo: random.isTrue ? .max : random.below(client.requestBytes))
            client.drop(withReset: true)
            resets += 1
            return wait(client, now, milliseconds: 20)
        }
        guard let isOut = client.push() else { return fail(client, now) }
        if isNew || !isOut { poll.watch(client.descriptor, mark: client.index, forRoom: !isOut, isNew: isNew) }
    }

    private func look(at client: SoakClient) {
        let now = SystemClock.system.monotonicNanoseconds()
        if client.phase == .busy, !client.isSent {
            guard let isOut = client.push() else { return fail(client, now) }
            if isOut { poll.watch(client.descriptor, mark: client.index, isNew: false) }
        }
        switch client.receive() {
        case .going: break
        case .acknowledged: acknowledge(client)
        case .refused(let status, let retryAfter):
            answersByStatus[status, default: 0] += 1
            // No longer than a second, whatever is asked: a soak has no time.
            wait(client, now, milliseconds: min(1000, 1000 * (retryAfter ?? 1)))
        case .wrong(let text):
            wrongAnswerCount += 1
            if wrongAnswers.count < 5 { wrongAnswers.append(text) }
            client.drop()
            wait(client, now, milliseconds: 1000)
        case .broken: fail(client, now)
        }
    }

    private func acknowledge(_ client: SoakClient) {
        answersByStatus[200, default: 0] += 1
        states.bytes[client.firstNumber / plan.batch] = BatchState.acknowledged.rawValue
        acknowledgedEvents.add(plan.batch, ordering: .relaxed)
        client.proceed()
        if client.phase == .idle { idle.append(client.index) }
    }

    private func fail(_ client: SoakClient, _ now: Int64) {
        client.drop()
        // The endpoint closes connections on which nothing comes.
        guard client.phase == .busy else { return }
        brokenConnections += 1
        wait(client, now, milliseconds: min(500, 20 << min(5, client.failures)))
    }

    private func wait(_ client: SoakClient, _ now: Int64, milliseconds: Int) {
        client.failures += 1
        client.phase = .waiting
        client.due = now + Int64(milliseconds) * 1_000_000
    }
}

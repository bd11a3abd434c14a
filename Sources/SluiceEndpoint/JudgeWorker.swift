// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceSystem

/// What a server thread judges a body with; it keeps its memory for the next one.
final class JudgeWorker {
    static let keptBytes = 512 << 10

    let limits: EventLimits
    var judge: EventJudge
    var records = ByteBuffer(capacity: 64 << 10)
    var verdict = BatchVerdict()
    var answer = ByteBuffer(capacity: 8 << 10)
    var inflated = ByteBuffer()
    var inflater = Inflater()
    /// Accepted events by their number in the contract; all zero between bodies.
    var counts: [Int] = []

    init(_ limits: EventLimits, seed: UInt64) {
        self.limits = limits
        judge = EventJudge(limits: limits, identitySeed: seed)
    }

    func clear() {
        records.removeAll()
        answer.removeAll()
        inflated.removeAll()
        records.shrink(to: Self.keptBytes)
        answer.shrink(to: Self.keptBytes)
        inflated.shrink(to: Self.keptBytes)
    }
}

/// Workers that are not in use; there are never more than server threads.
///
/// `@unchecked Sendable` for the one thing that moves through the lock: a worker in the pool has no other reference.
final class WorkerPool: @unchecked Sendable {
    private let lock = Lock(())
    private var workers: [JudgeWorker] = []
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
    }

    func take(_ limits: EventLimits) -> JudgeWorker {
        let worker = lock.withLock { _ in workers.popLast() }
        // After a reload the old limits go with their workers.
        guard let worker, worker.limits == limits else { return JudgeWorker(limits, seed: seed) }
        return worker
    }

    func give(_ worker: JudgeWorker) {
        worker.clear()
        lock.withLock { _ in workers.append(worker) }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

/// A sequence of actions on one spool, from the start of its programs to the moment when the machine ends.
struct Epoch {
    enum Action: Hashable, Sendable, CaseIterable {
        case append, stopWriter, writeAndDie, drain, work, recover, replay, discard, erase, eraseEntries, fold, status
        case damage, time
    }

    let records: ModelRecords
    let upstream: ModelUpstream
    let clock: ModelClock
    /// Whether bytes are damaged now and then.
    let damages: Bool
    let marks: Marks

    /// Runs `count` actions, then `end`, and lets go of everything.
    func run(in root: String, count: Int, random: SeededGenerator, end: () -> Void) throws {
        let processes = try Processes(
            root: root,
            records: records,
            clock: clock,
            upstream: upstream,
            random: random,
            mark: { [marks] in marks.add($0) }
        )
        defer {
            end()
            processes.close()
        }
        var random = random
        for _ in 0..<count {
            let action = random.pick(Self.weighted)
            marks.add(.action("\(action)"))
            do {
                try perform(action, processes, &random)
            } catch {
                marks.add(.fault("\(action) failed: \(error)"))
            }
        }
    }

    private static let weighted: [Action] = [
        .append, .append, .append, .append, .append, .stopWriter, .stopWriter, .writeAndDie, .drain, .drain, .drain,
        .work, .work, .recover, .replay, .replay, .discard, .erase, .eraseEntries, .fold, .status, .damage, .time,
    ]

    private func perform(_ action: Action, _ processes: Processes, _ random: inout SeededGenerator) throws {
        switch action {
        case .append: try processes.append(makeRecords(&random))
        case .stopWriter: processes.stopWriter()
        case .writeAndDie: try processes.writeAndDie((0...random.below(2)).map { _ in makeRecords(&random) })
        case .drain: try drain(processes, &random)
        case .work: try processes.work(claims: 1 + random.below(2), end: random.pick(Processes.WorkerEnd.allCases))
        case .recover: try processes.recoverIncoming()
        case .replay: try processes.edit(.replay, share: random.pick([1, 2]))
        case .discard: try processes.edit(.discard, share: 3)
        case .erase: try processes.erasePersons()
        case .eraseEntries: try processes.edit(.erase, share: 4)
        case .fold: try processes.foldLedger()
        case .status: try checkStatus(processes)
        case .damage: if damages && random.oneIn(2) { try processes.damageSomething() }
        case .time:
            clock.advance(milliseconds: Int64(random.pick([1, 2_000, 100_000, 400_000_000])))
            if random.oneIn(3) { clock.stepWall(milliseconds: Int64(random.pick([-7_000, -1, 90_000_000]))) }
        }
    }

    private func makeRecords(_ random: inout SeededGenerator) -> [ModelRecord] {
        let kinds: [ModelRecord.Kind] = [
            .plain, .plain, .plain, .plain, .plain, .twin, .refused, .refused, .setAside, .expired, .malformed,
        ]
        return (0..<random.pick([1, 2, 3, 7])).map { _ in records.make(random.pick(kinds), random: &random) }
    }

    private func drain(_ processes: Processes, _ random: inout SeededGenerator) throws {
        var policy = ModelUpstream.Policy()
        policy.refuses = random.below(3) > 0
        if random.oneIn(2) {
            let answers: [ModelUpstream.Answer] = [.take, .take, .takeAndReset, .fail, .close]
            policy.answers = (0..<random.below(6)).map { _ in random.pick(answers) }
        }
        if random.oneIn(3) {
            policy.stopsAfter = 1 + random.below(4)
            policy.givesUp = random.oneIn(2)
        }
        clock.setTick(milliseconds: Int64(random.pick([1, 5, 40])))
        try processes.drain(
            policy,
            maximumInFlight: random.pick([1, 1, 3]),
            window: random.pick([64, 64, 64, 0])
        )
    }

    private func checkStatus(_ processes: Processes) throws {
        let status = try processes.status()
        if !status.balanced { marks.add(.unbalanced(status.problems)) }
    }
}

/// Marks in the order in which they were made, each noted in the recording too.
final class Marks: Sendable {
    private let marks = Lock<[Mark]>([])
    private let recorder: CallRecorder

    init(_ recorder: CallRecorder) { self.recorder = recorder }

    func add(_ mark: Mark) {
        marks.withLock {
            $0.append(mark)
            recorder.mark($0.count - 1)
        }
    }

    var all: [Mark] { marks.withLock { $0 } }

    func removeAll() { marks.withLock { $0.removeAll() } }
}

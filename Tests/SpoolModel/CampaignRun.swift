// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem
internal import SluiceTestSupport

/// The run of one seed.
struct CampaignRun {
    private let recorder: CallRecorder
    private let folder: String
    private let plan: Campaign.Plan
    private let seed: UInt64
    private let records = ModelRecords()
    private let clock = ModelClock()
    private let marks: Marks
    private let upstream: ModelUpstream
    private var random: SeededGenerator
    private var result = Campaign.Report()
    private var seen: Set<UInt64> = []
    private var folders = 0

    init(recorder: CallRecorder, folder: String, plan: Campaign.Plan, seed: UInt64) throws {
        self.recorder = recorder
        self.folder = folder
        self.plan = plan
        self.seed = seed
        random = SeededGenerator(seed: seed)
        let marks = Marks(recorder)
        self.marks = marks
        upstream = ModelUpstream(records, clock: clock) { marks.add($0) }
    }

    func close() { upstream.stop() }

    /// A moment at which an epoch may be ended.
    private struct Moment {
        var operation: Int
        var disk: Disk
        var history: History
        var crash: Campaign.Crash
        var snapshot: DiskSnapshot
    }

    mutating func report() throws -> Campaign.Report {
        var disk = Disk()
        var history = History(records)
        for epoch in 0..<plan.epochs {
            let operations = try record(from: disk, isFirst: epoch == 0)
            let noted = marks.all
            result.operations += operations.count
            guard let next = try examine(operations, noted, disk, history, epoch) else { break }
            (disk, history) = next
        }
        return result
    }

    private mutating func newRoot() -> String {
        folders += 1
        return "\(folder)/\(seed)-\(folders)"
    }

    // MARK: Recording

    /// Runs an epoch on what the disk holds.
    private mutating func record(from disk: Disk, isFirst: Bool) throws -> [FileOperation] {
        let root = newRoot()
        defer { try? FileSystem.removeTree(root) }
        if !isFirst { try disk.snapshot().write(to: root, modifiedAt: clock.wallSeconds - random.pick([0, 3600])) }
        marks.removeAll()
        var operations: [FileOperation] = []
        var found = DiskSnapshot()
        var failure: (any Error)?
        recorder.start(root)
        let epoch = Epoch(records: records, upstream: upstream, clock: clock, damages: plan.damages, marks: marks)
        try epoch.run(in: root, count: plan.actions, random: SeededGenerator(seed: random.next())) {
            recorder.stop()
            operations = recorder.operations()
            do { found = try DiskSnapshot(of: root) } catch { failure = error }
        }
        if let failure { throw failure }
        // The recording must tell all that happened, else nothing is worth anything.
        var replayed = disk
        for operation in operations { replayed.apply(operation) }
        let differences = replayed.snapshot().differences(from: found)
        if !differences.isEmpty { result.failures.append("seed \(seed): calls were not recorded: \(differences)") }
        return operations
    }

    // MARK: Crashes

    /// Ends the epoch at many moments.
    ///
    /// - Returns: a disk and a history to go on with.
    private mutating func examine(
        _ operations: [FileOperation],
        _ noted: [Mark],
        _ start: Disk,
        _ before: History,
        _ epoch: Int
    ) throws -> (Disk, History)? {
        var (disk, history) = (start, before)
        // So many moments, and at each so many ends, are wanted; each is looked at with this chance.
        let moments = operations.count { $0.isMoment }
        let wanted = Double(plan.states) / Double(max(1, moments) * Self.crashes.count)
        var last: (disk: Disk, history: History)?
        var kept = 0
        for (index, operation) in operations.enumerated() {
            if case .mark(let number) = operation { history.take(noted[number]) }
            history.take(operation)
            disk.apply(operation)
            guard operation.isMoment else { continue }
            result.moments += 1
            let next = index + 1 < operations.count ? operations[index + 1] : nil
            for crash in Self.crashes where Double.random(in: 0..<1, using: &random) < wanted {
                guard let moment = end(disk, history, crash, index, next) else { continue }
                try examine(moment, operations, noted, epoch)
                // One of them, each with the same chance, is where the next epoch begins.
                kept += 1
                if random.oneIn(kept) { last = (moment.disk, moment.history) }
            }
        }
        result.failures += history.faults.map { "seed \(seed), epoch \(epoch): \($0)" }
        return last
    }

    /// Those that chance makes something else of each time are tried more often.
    private static let crashes: [Campaign.Crash] =
        [.kill, .kill, .killInWrite, .powerLoss(.some), .powerLoss(.some)] + Disk.Loss.allCases.map { .powerLoss($0) }

    private mutating func end(
        _ disk: Disk,
        _ history: History,
        _ crash: Campaign.Crash,
        _ index: Int,
        _ next: FileOperation?
    ) -> Moment? {
        var moment = Moment(operation: index, disk: disk, history: history, crash: crash, snapshot: DiskSnapshot())
        switch crash {
        case .kill:
            moment.history.kill()
            moment.disk.closeAll()
        case .killInWrite:
            guard case .write(let handle, let offset, let bytes) = next, bytes.count > 1 else { return nil }
            let part = Array(bytes[..<(1 + random.below(bytes.count - 1))])
            moment.disk.apply(.write(handle: handle, offset: offset, bytes: part))
            moment.history.kill()
            moment.disk.closeAll()
        case .powerLoss(let loss):
            moment.disk = Disk(disk.snapshot(after: loss, using: &random))
            moment.history.losePower()
        }
        moment.snapshot = moment.disk.snapshot()
        return moment
    }

    private mutating func examine(
        _ moment: Moment,
        _ operations: [FileOperation],
        _ noted: [Mark],
        _ epoch: Int
    ) throws {
        guard seen.insert(moment.snapshot.fingerprint(with: moment.history.fingerprint)).inserted else { return }
        result.states += 1
        let root = newRoot()
        defer { try? FileSystem.removeTree(root) }
        try moment.snapshot.write(to: root, modifiedAt: clock.wallSeconds - random.pick([0, 3600]))
        let check = CrashCheck(records: records, upstream: upstream, clock: clock, marks: marks)
        let faults = check.faults(in: root, after: moment.history, random: SeededGenerator(seed: random.next()))
        guard !faults.isEmpty else { return }
        let place = "seed \(seed), epoch \(epoch), \(moment.crash) after call \(moment.operation)"
        result.failures.append(place + faults.map { "\n    \($0)" }.joined())
        guard let kept = plan.keptFailures else { return }
        let name = "\(kept)/\(seed)-\(epoch)-\(moment.operation)-\(result.states)"
        try moment.snapshot.write(to: name, modifiedAt: clock.wallSeconds)
        try DiskSnapshot(of: root).write(to: "\(name)-restarted", modifiedAt: clock.wallSeconds)
        let log = try File(opening: "\(name).log", O_WRONLY | O_CREAT | O_TRUNC)
        for (index, operation) in operations.enumerated() {
            let cut = index == moment.operation ? "  <== \(moment.crash)" : ""
            if case .mark(let number) = operation {
                try log.write("\(index) ---- \(noted[number])\(cut)\n")
            } else {
                try log.write("\(index) \(operation.summary)\(cut)\n")
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSoak
import SluiceSpool
import SluiceSystem

/// A soak: the real programs at work, faults at random, and in the end the count.
final class Soak {
    let options: SoakOptions
    let folder: String
    let disk: MemoryDisk?
    let spool: SpoolFolder
    let plan: SoakPlan
    let record: SoakRecord
    let programs: SoakPrograms
    let clients: SoakClients
    private let interrupts: Interrupts
    private let tell: (String) -> Void

    // What the faults need.
    var random: SoakRandom
    let timeline = Timeline()
    var deck: [SoakFaultKind] = []
    var begun: [SoakFaultKind: Int] = [:]
    var damager: SegmentDamager
    var replay: ChildProcess?
    var replayEnds: [Int32: Int] = [:]
    var isClockStepped = false

    private(set) var notes: [String] = []

    /// Makes the spool and the files, and starts nothing yet.
    ///
    /// - Parameters:
    ///   - options: what to do.
    ///   - folder: an absolute path; all files go there.
    ///   - interrupts: the first ends the faults early, the second what comes behind them.
    ///   - tell: told how far it is.
    /// - Throws: when the spool or a file cannot be made.
    init(
        _ options: SoakOptions,
        folder: String,
        interrupts: Interrupts,
        tell: @escaping (String) -> Void
    ) throws {
        self.options = options
        self.folder = folder
        self.interrupts = interrupts
        self.tell = tell
        random = SoakRandom(seed: options.seed)
        disk = options.isOnRealDisk ? nil : MemoryDisk(at: "\(folder)/disk", megabytes: options.diskMegabytes)
        spool = try SpoolFolder.open(disk.map { "\($0.path)/spool" } ?? "\(folder)/spool", role: .writer)
        var plan = SoakPlan(
            seed: options.seed,
            clients: options.clients,
            batch: options.batch,
            eventsPerSecond: options.eventsPerSecond,
            startSeconds: SystemClock.system.wallSeconds,
            events: Int(options.seconds * Double(options.eventsPerSecond))
        )
        if !options.faults.contains(.poison) { plan.rareEvery = .max }
        self.plan = plan
        let recordPath = "\(folder)/record"
        record = try SoakRecord(creating: recordPath, plan: plan)
        damager = SegmentDamager(spool: spool, plan: plan)
        programs = try SoakPrograms(folder: folder, spool: spool.root, record: recordPath, random: &random)
        clients = try SoakClients(
            plan: plan,
            port: programs.endpointPort,
            statesPath: "\(folder)/batches",
            seed: random.next()
        )
    }

    func run() throws -> SoakResult {
        tellWhatIsSkipped()
        try programs.start()
        clients.start()
        let begun = SystemClock.system.monotonicNanoseconds()
        var watch = SoakWatch(self, begun)
        let end = begun + Int64(options.seconds * 1e9)
        scheduleFault(begun)
        if let sabotage = options.sabotage { scheduleSabotage(sabotage, begun) }
        var now = begun
        while now < end && interrupts.count == 0 {
            try timeline.run(now)
            for program in programs.all { try program.tend(now) }
            tendReplay()
            try watch.tend(self, now)
            usleep(5_000)
            now = SystemClock.system.monotonicNanoseconds()
        }
        watch.seconds = Double(now - begun) / 1e9
        tell("the faults are over; the clients finish")
        try calm()
        tell("draining")
        let problems = try drain { interrupts.count > 1 }
        try programs.stub.finish()
        watch.finish()
        tell("counting")
        return try count(watch, problems)
    }

    private func tellWhatIsSkipped() {
        if options.faults.contains(.disk) && disk == nil {
            notes.append("the disk is not filled: the spool has no filesystem of its own here")
        }
        if options.faults.contains(.clock) && programs.clocks.isEmpty {
            notes.append("no clock is stepped: faketime is missing; deploy/dependencies.sh --tools installs it")
        }
        for text in notes { tell(text) }
    }
}

/// What is looked at while the programs work.
struct SoakWatch {
    var samples: SoakSamples
    var probe: BooksProbe
    /// How long clients posted and faults came.
    var seconds = 0.0

    init(_ soak: Soak, _ now: Int64) {
        let seconds = soak.options.seconds
        samples = SoakSamples(
            names: soak.programs.all.map(\.name),
            intervalSeconds: max(0.5, min(5, seconds / 100)),
            now
        )
        probe = BooksProbe(soak.programs.tools, intervalSeconds: max(1, min(15, seconds / 40)), now)
    }

    mutating func tend(_ soak: Soak, _ now: Int64) throws {
        samples.tend(now, soak.programs.all, soak.spool)
        let struck = soak.damager.strikes.reduce(0) { $0 + $1.numbers.count }
        try probe.tend(now, acknowledged: soak.clients.acknowledged, tolerated: struck)
    }

    mutating func finish() { probe.finish() }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-bench relay`: sealed segments to a stub on this machine, through the real programs.
struct RelayBenchmark: Command {
    static let abstract = "Drain a spool of made-up events into graphjson-stub."
    static let usage = "[--events N] [--second N] [--erased N] [--in-flight N] [--repeat N] [--json]"
    static let help = """
        Fills a spool in a folder of its own below the current one, starts graphjson-stub and runs sluice-relay drain.
        Before that as many events go to the floor: ready requests through libcurl to a plain sink. Also reports how soon
        the first event is delivered, and how fast the first and the last tenth of the backlog drain.

        Options:
        \(HelpText.table(
            BenchmarkOptions.help(events: 2_000_000, "Events of about 435 bytes.") + [
                ("--second N", "Events that share one timestamp. Default: 5000."),
                ("--erased N", "Persons on the list of erased ones, none of them in the events. Default: 0."),
                ("--in-flight N", "Requests that may be under way. Default: 16."),
            ]
        ))

        Exit codes: 0 measured; 70 a program did not do what it should.

        Examples:
          sluice-bench relay --events 10000000 --repeat 1
        """

    private let options: BenchmarkOptions
    private let perSecond: Int
    private let erased: Int
    private let inFlight: Int

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        options = try BenchmarkOptions(&arguments, events: 2_000_000)
        perSecond = try arguments.integer("--second", in: 1...1_000_000) ?? 5_000
        erased = try arguments.integer("--erased", in: 0...ErasureList.maximumEntries) ?? 0
        inFlight = try arguments.integer("--in-flight", in: 1...256) ?? 16
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        try options.measure(
            "relay",
            settings: [("second", "\(perSecond)"), ("erased", "\(erased)"), ("in-flight", "\(inFlight)")],
            targets: [
                "events_per_second": .atLeast(800_000), Figure.ratioName: .atLeast(0.35),
                "cpu_seconds_per_million": .atMost(1.5), "rss_anon_mib": .atMost(64),
                "disk_bytes_per_event": .atMost(150), "first_delivery_ms": .atMost(1000),
            ],
            warmUp: min(options.shortRun, 500_000),
            context
        ) { try runOnce($0, events: $1) }
        return .ok
    }

    private func runOnce(_ folder: String, events: Int) throws -> [BenchmarkOptions.Sample] {
        let spool = try SpoolFolder.open("\(folder)/spool", role: .writer)
        let sizes = try SampleSpool(folder: spool, recordsPerSecond: perSecond).fill(events)
        if erased > 0 {
            let persons = (0..<erased).map { Person(.user, "erased-\($0)") }
            try ErasureList(in: spool).add(persons, until: SystemClock.system.wallSeconds)
        }
        let watch = Stopwatch()
        let floorCPU = try Floor.Sending(folder, events: events, inFlight: inFlight).wait()
        let floorRate = Double(events) / watch.seconds
        let stub = try ListeningProgram(
            "graphjson-stub",
            ["--listen", "127.0.0.1:0", "--key", "bench"],
            output: "\(folder)/stub.out"
        )
        var drain = try Drain(folder, spool.root, stub, inFlight: inFlight)
        try drain.finish(events)
        stub.stop()
        return [
            ("events_per_second", drain.rate(0...1)), ("floor_events_per_second", floorRate),
            (Figure.ratioName, drain.rate(0...1) / floorRate),
            ("cpu_seconds_per_million", drain.cpuSeconds / Double(events) * 1e6),
            ("floor_cpu_seconds_per_million", floorCPU / Double(events) * 1e6),
            ("rss_anon_mib", drain.meter.anonymousMebibytes), ("descriptors", Double(drain.meter.descriptors)),
            ("disk_bytes_per_event", Double(sizes.disk) / Double(events)),
            ("first_delivery_ms", drain.firstDelivery * 1000),
            ("first_tenth_events_per_second", drain.rate(0...0.1)),
            ("last_tenth_events_per_second", drain.rate(0.9...1)),
        ]
    }
}

/// A drain that is watched.
private struct Drain {
    private let relay: ChildProcess
    private let errors: String
    private let watch = Stopwatch()
    private let statistics: StubStatistics
    private(set) var meter: Meter
    private(set) var cpuSeconds = 0.0
    /// Seconds from the start.
    private(set) var firstDelivery = 0.0
    /// Seconds from the start, and how many had arrived by then.
    private var course: [(seconds: Double, count: Int)] = []

    init(_ folder: String, _ spool: String, _ stub: ListeningProgram, inFlight: Int) throws {
        errors = "\(folder)/relay.err"
        statistics = try StubStatistics(port: stub.port)
        relay = try ChildProcess(
            try Bench.program("sluice-relay"),
            ["drain", "--spool", spool, "--graphjson-url", "http://\(stub.address)"],
            environment: ["GRAPHJSON_API_KEY=bench", "SLUICE_RELAY_MAX_IN_FLIGHT=\(inFlight)"],
            output: "\(folder)/relay.out",
            errors: errors
        )
        meter = Meter(relay)
    }

    /// Waits for the end.
    mutating func finish(_ events: Int) throws {
        while relay.poll() == nil {
            meter.look()
            let count = try statistics.events().taken
            if count > 0 && course.isEmpty { firstDelivery = watch.seconds }
            if count > 0 { course.append((watch.seconds, count)) }
            usleep(course.isEmpty ? 1000 : 20_000)
        }
        let ending = relay.wait()
        cpuSeconds = ending.cpuSeconds
        course.append((watch.seconds, events))
        let arrived = try statistics.events().distinct
        guard ending.code == 0, arrived == events else {
            let text = (try? FileSystem.contents(of: errors, limit: 1 << 20)) ?? []  // it said nothing
            throw CommandError(
                .software,
                "the drain ended with \(ending.code), \(arrived) of \(events) events arrived: "
                    + String(decoding: text, as: UTF8.self)
            )
        }
    }

    /// Events a second while this part of them arrived.
    func rate(_ part: ClosedRange<Double>) -> Double {
        guard let all = course.last else { return 0 }
        let seconds = moment(part.upperBound * Double(all.count)) - moment(part.lowerBound * Double(all.count))
        return (part.upperBound - part.lowerBound) * Double(all.count) / max(1e-9, seconds)
    }

    /// When that many had arrived, in seconds from the start.
    private func moment(_ count: Double) -> Double {
        var before = (seconds: 0.0, count: 0.0)
        for point in course {
            let now = (seconds: point.seconds, count: Double(point.count))
            if now.count >= count {
                let share = now.count == before.count ? 1 : (count - before.count) / (now.count - before.count)
                return count == 0 ? 0 : before.seconds + (now.seconds - before.seconds) * share
            }
            before = now
        }
        return before.seconds
    }
}

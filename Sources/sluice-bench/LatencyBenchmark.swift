// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-bench latency`: a destination that is far away, fails now and then, or is slow now and then.
struct LatencyBenchmark: Command {
    static let abstract = "Deliver to a graphjson-stub that takes its time."
    static let usage =
        "[--events N] [--rate N] [--in-flight N] [--latency-ms N] [--fail-rate P] [--slow-rate P] [--repeat N] [--json]"
    static let help = """
        Starts sluice-relay run and a slow graphjson-stub, puts sealed segments into the spool, all at once or ten times a
        second, and watches: events a second, how many requests the relay allows itself, and how long a record waits from
        the spool to its arrival. The mean wait is exact; the other waits are those of records that arrive in order.

        Options:
        \(HelpText.table(
            BenchmarkOptions.help(events: 100_000, "Events of about 435 bytes.", repeats: 3) + [
                ("--rate N", "Events a second that come into the spool; 0 is all at once. Default: 0."),
                ("--in-flight N", "Requests that may be under way. Default: 16."),
                ("--latency-ms N", "How long each answer takes. Default: 100."),
                ("--fail-rate P", "Share of requests that are answered 503. Default: 0.01."),
                ("--slow-rate P", "Share of requests whose answer takes 10 s longer. Default: 0."),
            ]
        ))

        Exit codes: 0 measured; 70 a program did not do what it should.

        Examples:
          sluice-bench latency --rate 4000 --slow-rate 0.01
        """

    private static let slowMilliseconds = 10_000

    private let options: BenchmarkOptions
    private let rate: Int
    private let inFlight: Int
    private let latency: Int
    private let failureRate: Double
    private let slowRate: Double

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        options = try BenchmarkOptions(&arguments, events: 100_000, repeats: 3)
        rate = try arguments.integer("--rate", in: 0...10_000_000) ?? 0
        inFlight = try arguments.integer("--in-flight", in: 1...256) ?? 16
        latency = try arguments.integer("--latency-ms", in: 0...60_000) ?? 100
        failureRate = try arguments.number("--fail-rate", in: 0...1) ?? 0.01
        slowRate = try arguments.number("--slow-rate", in: 0...1) ?? 0
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        var targets: [String: Figure.Target] = ["rss_anon_mib": .atMost(64)]
        if rate == 0 && slowRate == 0 && latency > 0 {
            targets["events_per_second"] = .atLeast(min(50_000, Double(inFlight * 50) / (Double(latency) / 1000)))
        }
        try options.measure(
            "latency",
            settings: [
                ("rate", "\(rate)"), ("in-flight", "\(inFlight)"), ("latency-ms", "\(latency)"),
                ("fail-rate", "\(failureRate)"), ("slow-rate", "\(slowRate)"),
            ],
            targets: targets,
            warmUp: 0,
            context
        ) { try runOnce($0, events: $1) }
        return .ok
    }

    private func runOnce(_ folder: String, events: Int) throws -> [BenchmarkOptions.Sample] {
        let spool = try SpoolFolder.open("\(folder)/spool", role: .writer)
        let stub = try ListeningProgram(
            "graphjson-stub",
            [
                "--listen", "127.0.0.1:0", "--key", "bench", "--latency-ms", "\(latency)", "--fail-rate",
                "\(failureRate)", "--slow-rate", "\(slowRate)", "--slow-ms", "\(Self.slowMilliseconds)",
            ],
            output: "\(folder)/stub.out"
        )
        let statistics = try StubStatistics(port: stub.port)
        let sample = SampleSpool(folder: spool)
        if rate == 0 { _ = try sample.fill(events) }
        let relay = try RelayRun(folder, spool: spool.root, stub: stub, inFlight: inFlight)
        var meter = Meter(relay.process)
        var course = WaitCourse()
        var limits: [(seconds: Double, limit: Double, inFlight: Double)] = []
        let watch = Stopwatch()
        var fed = rate == 0 ? events : 0
        course.note(watch.seconds, fed: fed, taken: 0)
        while course.taken < events {
            let due = rate == 0 ? events : min(events, Int(watch.seconds * 10) * rate / 10)
            if due > fed {
                _ = try sample.fill(due - fed, from: fed)
                fed = due
            }
            course.note(watch.seconds, fed: fed, taken: try statistics.events().distinct)
            if watch.seconds >= Double(limits.count) * 0.1, let now = relay.concurrency() {
                limits.append((watch.seconds, now.limit, now.inFlight))
                meter.look()
            }
            guard watch.seconds < 900, relay.process.poll() == nil else {
                throw CommandError(.software, "only \(course.taken) of \(events) events are delivered")
            }
            usleep(10_000)
        }
        let seconds = watch.seconds
        relay.stop()
        stub.stop()
        let settled = limits.drop { $0.limit < Double(inFlight) }
        return [
            ("events_per_second", Double(events) / seconds),
            ("seconds_to_full_limit", settled.first?.seconds ?? seconds),
            ("limit_median", Self.median(limits.map(\.limit))),
            ("limit_lowest_later", settled.map(\.limit).min() ?? 0),
            ("in_flight_median", Self.median(limits.map(\.inFlight))),
            ("wait_mean_ms", course.mean * 1000), ("wait_p50_ms", course.wait(0.5) * 1000),
            ("wait_p99_ms", course.wait(0.99) * 1000), ("wait_of_last_ms", course.waitOfLast * 1000),
            ("rss_anon_mib", meter.anonymousMebibytes),
        ]
    }

    private static func median(_ values: [Double]) -> Double { Figure(name: "", values: values).median }
}

/// How many records were there and how many had arrived, moment by moment.
private struct WaitCourse {
    private var points: [(seconds: Double, fed: Int, taken: Int)] = []

    var taken: Int { points.last?.taken ?? 0 }

    mutating func note(_ seconds: Double, fed: Int, taken: Int) { points.append((seconds, fed, taken)) }

    /// Seconds that a record waits, whatever their order: what waits, summed over time, for each record.
    var mean: Double {
        var sum = 0.0
        for (one, next) in zip(points, points.dropFirst()) {
            sum += (next.seconds - one.seconds) * Double(next.fed - next.taken + one.fed - one.taken) / 2
        }
        return sum / Double(max(1, taken))
    }

    /// Seconds that a share of the records waits at most, if they arrive as they came.
    func wait(_ share: Double) -> Double {
        var waits: [(seconds: Double, count: Int)] = []
        var next = 0
        var before = 0
        for point in points where point.taken > before {
            // When the last of those that arrived now was put there.
            while next < points.count - 1, points[next].fed < point.taken { next += 1 }
            waits.append((point.seconds - points[next].seconds, point.taken - before))
            before = point.taken
        }
        waits.sort { $0.seconds < $1.seconds }
        var count = 0
        for wait in waits {
            count += wait.count
            if Double(count) >= share * Double(taken) { return wait.seconds }
        }
        return 0
    }

    /// From the last record in the spool to the last arrival.
    var waitOfLast: Double {
        guard let last = points.last, let fed = points.first(where: { $0.fed >= last.fed }) else { return 0 }
        return last.seconds - fed.seconds
    }
}

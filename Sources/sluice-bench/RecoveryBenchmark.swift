// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-bench recovery`: how soon things go on after a SIGKILL, and what is sent twice.
struct RecoveryBenchmark: Command {
    static let abstract = "Kill a drain in the middle, and measure how soon the next one goes on."
    static let usage = BenchmarkOptions.usage
    static let help = """
        Fills a spool in a folder of its own below the current one, starts graphjson-stub and sluice-relay drain, kills the
        drain when half of the events have arrived, and starts another. Reports, as medians: from the start of a program
        to what it is there for with the whole backlog before it (the endpoint listens, the relay delivers its first
        event), the same for the relay after the kill, how long sluice-relay status takes then and whether its books are
        balanced, how long until everything is delivered, and how many events were sent twice.

        Options:
        \(HelpText.table(
            BenchmarkOptions.help(events: 1_000_000, "Events of the backlog, about 435 bytes each.", repeats: 3)
        ))

        Exit codes:
          0   done; the books were balanced after every kill, and nothing was lost
          65  they were not
        """

    private let options: BenchmarkOptions

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        options = try BenchmarkOptions(&arguments, events: 1_000_000, repeats: 3)
        _ = try arguments.remaining()
    }

    /// Milliseconds, except where a name says another thing.
    private struct Run {
        var endpointStart = 0.0
        var firstDelivery = 0.0
        var status = 0.0
        var isBalanced = false
        var firstDeliveryAfterKill = 0.0
        var secondsToEnd = 0.0
        var remaining = 0
        var repeated = 0
        var isComplete = false

        func samples(_ events: Int) -> [BenchmarkOptions.Sample] {
            [
                ("endpoint_start_ms", endpointStart), ("first_delivery_ms", firstDelivery),
                ("first_delivery_after_kill_ms", firstDeliveryAfterKill), ("status_after_kill_ms", status),
                ("balanced_after_kill", isBalanced ? 1 : 0), ("second_drain_seconds", secondsToEnd),
                ("second_drain_events", Double(remaining)), ("nothing_lost", isComplete ? 1 : 0),
                ("sent_twice", Double(repeated)), ("sent_twice_per_million", Double(repeated) / Double(events) * 1e6),
            ]
        }
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        var isGood = true
        try options.measure("recovery", warmUp: 0, context) { folder, events in
            let run = try runOnce(folder, events)
            isGood = isGood && run.isBalanced && run.isComplete
            return run.samples(events)
        }
        return isGood ? .ok : .badData
    }

    private func runOnce(_ folder: String, _ events: Int) throws -> Run {
        var run = Run()
        let spool = try SpoolFolder.open("\(folder)/spool", role: .writer)
        _ = try SampleSpool(folder: spool).fill(events)
        run.endpointStart = try endpointStart(folder, spool.root)
        let stub = try ListeningProgram(
            "graphjson-stub",
            ["--listen", "127.0.0.1:0", "--key", "bench"],
            output: "\(folder)/stub.out"
        )
        let statistics = try StubStatistics(port: stub.port)
        let tools = RelayTools(
            folder: folder,
            spool: spool.root,
            url: "http://\(stub.address)",
            environment: ["GRAPHJSON_API_KEY=bench"]
        )
        let killed = try drain(tools, from: 0, statistics)
        run.firstDelivery = killed.firstDelivery
        while try statistics.events().taken < events / 2, killed.process.poll() == nil {}
        killed.process.send(SIGKILL)
        guard killed.process.wait().code == 137 else {
            throw CommandError(.software, "the drain ended before the kill")
        }
        let before = try settled(statistics)
        let asked = SystemClock.system.monotonicNanoseconds()
        let books = try tools.books()
        run.status = milliseconds(since: asked)
        run.isBalanced = books.isBalanced && books.accepted == events
        run.remaining = books.pending
        let again = try drain(tools, from: before, statistics)
        run.firstDeliveryAfterKill = again.firstDelivery
        let ending = again.process.wait()
        run.secondsToEnd = milliseconds(since: again.begun) / 1000
        let end = try statistics.events()
        run.repeated = end.taken - end.distinct
        let last = try tools.books()
        run.isComplete = ending.code == 0 && end.distinct == events && last.isBalanced && last.pending == 0
        stub.stop()
        return run
    }

    /// From the start to the line that says that requests are taken.
    private func endpointStart(_ folder: String, _ spool: String) throws -> Double {
        let watch = Stopwatch()
        let endpoint = try SampleBatch.startEndpoint(folder, spool: spool)
        let time = watch.milliseconds
        endpoint.stop()
        return time
    }

    /// Starts a drain and waits for the first event that arrives beyond `count`.
    private func drain(
        _ tools: RelayTools,
        from count: Int,
        _ statistics: StubStatistics
    ) throws -> (process: ChildProcess, begun: Int64, firstDelivery: Double) {
        let begun = SystemClock.system.monotonicNanoseconds()
        let process = try tools.start(["drain", "--graphjson-url", tools.url], as: "drain")
        while try statistics.events().taken <= count {
            if process.poll() != nil { throw CommandError(.software, "the drain delivered nothing") }
        }
        return (process, begun, milliseconds(since: begun))
    }

    /// Events taken when the requests of a killed relay have come to their end.
    private func settled(_ statistics: StubStatistics) throws -> Int {
        var count = try statistics.events().taken
        while true {
            usleep(50_000)
            let next = try statistics.events().taken
            if next == count { return count }
            count = next
        }
    }

    private func milliseconds(since begun: Int64) -> Double {
        Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e6
    }
}

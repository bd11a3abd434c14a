// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-bench recovery`: how soon things go on after a SIGKILL, and what is sent twice.
struct RecoveryBenchmark: Command {
    static let abstract = "Kill a drain in the middle, and measure how soon the next one goes on."
    static let usage = "[--events N] [--repeat N] [--json]"
    static let help = """
        Fills a spool in a folder of its own below the current one, starts graphjson-stub and sluice-relay drain, kills the
        drain when half of the events have arrived, and starts another. Reports, as medians: from the start of a program
        to what it is there for with the whole backlog before it (the endpoint listens, the relay delivers its first
        event), the same for the relay after the kill, how long sluice-relay status takes then and whether its books are
        balanced, how long until everything is delivered, and how many events were sent twice.

        Options:
        \(HelpText.table([
            ("--events N", "Events of the backlog, about 435 bytes each. Default: 1000000."),
            ("--repeat N", "Runs; the median counts. Default: 3."),
            ("--json", "One JSON object instead of the table."),
        ]))

        Exit codes:
          0   done; the books were balanced after every kill, and nothing was lost
          65  they were not
        """

    private let events: Int
    private let repeats: Int
    private let isJSON: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        events = try arguments.integer("--events", in: 1000...100_000_000) ?? 1_000_000
        repeats = try arguments.integer("--repeat", in: 1...100) ?? 3
        isJSON = try arguments.flag("--json")
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
        var diskBytes = 0
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let folder = try Bench.makeFolder("recovery")
        defer { try? FileSystem.removeTree(folder) }
        var runs: [Run] = []
        for number in 0..<repeats { runs.append(try runOnce("\(folder)/\(number)")) }
        try report(runs, context.output)
        return runs.allSatisfy { $0.isBalanced && $0.isComplete } ? .ok : .badData
    }

    private func runOnce(_ folder: String) throws -> Run {
        var run = Run()
        try FileSystem.makeFolder(folder, mode: 0o700)
        let spool = try SpoolFolder.open("\(folder)/spool", role: .writer)
        run.diskBytes = try SampleSpool(folder: spool).fill(events).disk
        run.endpointStart = try endpointStart(folder, spool.root)
        let stub = try ChildProcess(
            try Bench.program("graphjson-stub"),
            ["--listen", "127.0.0.1:0", "--key", "bench"],
            output: "\(folder)/stub.out"
        )
        let address = try Bench.address(in: "\(folder)/stub.out", of: stub)
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw CommandError(.software, "no port in \(address)")
        }
        let statistics = try StubStatistics(port: port)
        let tools = RelayTools(
            folder: folder,
            spool: spool.root,
            url: "http://\(address)",
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
        stub.send(SIGTERM)
        stub.wait()
        try FileSystem.removeTree(folder)
        return run
    }

    /// From the start to the line that says that requests are taken.
    private func endpointStart(_ folder: String, _ spool: String) throws -> Double {
        let contract = "\(folder)/contract.json5"
        try File(opening: contract, O_WRONLY | O_CREAT).write(EndpointBenchmark.contract)
        let begun = SystemClock.system.monotonicNanoseconds()
        let endpoint = try ChildProcess(
            try Bench.program("sluice-endpoint"),
            ["serve", "--spool", spool, "--contract", contract, "--listen", "127.0.0.1:0", "--admin", "off"],
            environment: ["SLUICE_LOG_LEVEL=warning"],
            output: "\(folder)/endpoint.out"
        )
        _ = try Bench.address(in: "\(folder)/endpoint.out", of: endpoint)
        let time = milliseconds(since: begun)
        endpoint.send(SIGTERM)
        endpoint.wait()
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

    // MARK: Report

    private func report(_ runs: [Run], _ output: Output) throws {
        func median(_ path: KeyPath<Run, Double>) -> Double { runs.map { $0[keyPath: path] }.sorted()[runs.count / 2] }
        func rounded(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
        let repeated = runs.map(\.repeated).sorted()
        let middle = repeated[runs.count / 2]
        let perMillion = Double(middle) / Double(events) * 1e6
        let isBalanced = runs.allSatisfy(\.isBalanced)
        let isComplete = runs.allSatisfy(\.isComplete)
        if isJSON {
            try output.line(
                #"{"benchmark":"recovery","events":\#(events),"runs":\#(runs.count),"#
                    + #""endpoint_start_ms":\#(rounded(median(\.endpointStart))),"#
                    + #""first_delivery_ms":\#(rounded(median(\.firstDelivery))),"#
                    + #""first_delivery_after_kill_ms":\#(rounded(median(\.firstDeliveryAfterKill))),"#
                    + #""status_ms":\#(rounded(median(\.status))),"balanced":\#(isBalanced),"#
                    + #""seconds_to_end":\#(rounded(median(\.secondsToEnd))),"repeated":\#(middle),"#
                    + #""repeated_most":\#(repeated[runs.count - 1]),"repeated_per_million":\#(rounded(perMillion)),"#
                    + #""complete":\#(isComplete),"disk_bytes":\#(runs[0].diskBytes)}"#
            )
            return
        }
        for (name, value) in [
            ("backlog", "\(events) events, \(runs[0].diskBytes >> 20) MiB on disk, \(runs.count) runs, medians"),
            ("endpoint, start to listening", "\(rounded(median(\.endpointStart))) ms"),
            ("relay, start to first delivery", "\(rounded(median(\.firstDelivery))) ms"),
            ("the same after SIGKILL", "\(rounded(median(\.firstDeliveryAfterKill))) ms"),
            ("status after SIGKILL", "\(rounded(median(\.status))) ms, \(isBalanced ? "balanced" : "NOT BALANCED")"),
            (
                "second drain, start to end",
                "\(rounded(median(\.secondsToEnd))) s for \(runs[0].remaining) events, \(isComplete ? "nothing lost" : "INCOMPLETE")"
            ),
            (
                "sent twice",
                "\(middle) events (at most \(repeated[runs.count - 1])), \(rounded(perMillion)) per million"
            ),
            ("load of the machine", load),
        ] {
            try output.line(name + String(repeating: " ", count: max(1, 32 - name.count)) + value)
        }
    }

    private var load: String {
        guard let bytes = try? FileSystem.contents(ofProc: "/proc/loadavg") else { return "unknown" }
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ").prefix(3).joined(separator: ", ")
        return "\(words) on \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) processors"
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSystem

/// `sluice-bench endpoint`: batches of made-up events over loopback HTTP into a spool on this machine's disk.
struct EndpointBenchmark: Command {
    static let abstract = "Post batches of made-up events to sluice-endpoint."
    static let usage = "[--events N] [--connections N] [--batch N] [--idle N] [--repeat N] [--json]"
    static let help = """
        Starts sluice-endpoint with a spool in a folder of its own below the current one, rate limits off, and drives it
        from one thread over keep-alive connections, each of which waits for its answer before it posts again. Reports
        accepted events a second, latencies, CPU time and anonymous resident memory (RssAnon) of the endpoint, and what
        fdatasync costs here.

        Options:
          --events N       Events of about 430 bytes. Default: 2000000.
          --connections N  Connections that post. Default: 256.
          --batch N        Events of a batch. Default: 20.
          --idle N         Further connections that post once and then stay idle. Default: 0.
          --repeat N       Runs; the median counts. Default: 3.
          --json           One JSON object instead of the table.

        Exit codes: 0 measured; 70 a program did not do what it should.

        Examples:
          sluice-bench endpoint --batch 1 --connections 64
        """

    private let events: Int
    private let connections: Int
    private let batch: Int
    private let idle: Int
    private let repeats: Int
    private let isJSON: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        events = try arguments.integer("--events", in: 1...1_000_000_000) ?? 2_000_000
        connections = try arguments.integer("--connections", in: 1...20_000) ?? 256
        batch = try arguments.integer("--batch", in: 1...100) ?? 20
        idle = try arguments.integer("--idle", in: 0...20_000) ?? 0
        repeats = try arguments.integer("--repeat", in: 1...100) ?? 3
        isJSON = try arguments.flag("--json")
        _ = try arguments.remaining()
    }

    private struct Run {
        var rate: Double
        var median: Double
        var p99: Double
        var cpuPerMillion: Double
        var anonymousBytes: Int
        var syncP99: Double
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let folder = try Bench.makeFolder()
        defer { try? FileSystem.removeTree(folder) }
        var runs: [Run] = []
        for number in 0..<repeats { runs.append(try runOnce("\(folder)/\(number)")) }
        try report(runs, context.output)
        return .ok
    }

    static let contract = """
        { contract_version: "bench-1", schema_versions: { min: 1, max: 1 }, events: { report_exported: { properties: {
          report_type: { type: "string", max_length: 50 }, row_count: { type: "number" }, locale: { type: "string" },
          duration_ms: { type: "number" }, is_shared: { type: "boolean" } } } } }
        """

    private func runOnce(_ folder: String) throws -> Run {
        try FileSystem.makeFolder(folder, mode: 0o700)
        let contract = "\(folder)/contract.json5"
        try File(opening: contract, O_WRONLY | O_CREAT).write(Self.contract)
        let before = try syncTimes(folder)
        let endpoint = try ChildProcess(
            try Bench.program("sluice-endpoint"),
            [
                "serve", "--spool", "\(folder)/spool", "--contract", contract, "--listen", "127.0.0.1:0", "--admin",
                "off",
            ],
            environment: [
                "SLUICE_RATE_LIMIT_USER=0", "SLUICE_RATE_LIMIT_ANONYMOUS=0", "SLUICE_RATE_LIMIT_ADDRESS=0",
                "SLUICE_LOG_LEVEL=warning",
            ],
            output: "\(folder)/endpoint.out"
        )
        let address = try Bench.address(in: "\(folder)/endpoint.out", of: endpoint)
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw CommandError(.software, "no port in \(address)")
        }
        let load = try EndpointLoad(port: port, connections: connections, batch: batch, idle: idle)
        var anonymous = 0
        let cpu = endpoint.cpuSeconds ?? 0
        let begun = SystemClock.system.monotonicNanoseconds()
        try load.run(events: events) { anonymous = max(anonymous, endpoint.memory("RssAnon") ?? 0) }
        let seconds = Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e9
        let used = (endpoint.cpuSeconds ?? 0) - cpu
        anonymous = max(anonymous, endpoint.memory("RssAnon") ?? 0)
        endpoint.send(SIGTERM)
        endpoint.wait()
        let times = (before + (try syncTimes(folder))).sorted()
        try FileSystem.removeTree(folder)
        return Run(
            rate: Double(load.accepted) / seconds,
            median: load.latency(0.5),
            p99: load.latency(0.99),
            cpuPerMillion: used / Double(load.accepted) * 1e6,
            anonymousBytes: anonymous,
            syncP99: times[times.count * 99 / 100]
        )
    }

    /// Milliseconds that fdatasync takes after 64 KiB were appended.
    private func syncTimes(_ folder: String) throws -> [Double] {
        let path = "\(folder)/sync"
        let file = try File(opening: path, O_WRONLY | O_CREAT | O_TRUNC)
        let text = String(repeating: "x", count: 64 << 10)
        var times: [Double] = []
        for _ in 0..<200 {
            try file.write(text)
            let begun = SystemClock.system.monotonicNanoseconds()
            try file.syncData()
            times.append(Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e6)
        }
        try FileSystem.remove(path)
        return times
    }

    private func report(_ runs: [Run], _ output: Output) throws {
        let sorted = runs.sorted { $0.rate < $1.rate }
        let middle = sorted[runs.count / 2]
        let memory = runs.map(\.anonymousBytes).max() ?? 0
        func rounded(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
        if isJSON {
            try output.line(
                #"{"benchmark":"endpoint","events":\#(events),"runs":\#(runs.count),"connections":\#(connections),"#
                    + #""batch":\#(batch),"idle":\#(idle),"events_per_second":\#(Int(middle.rate)),"#
                    + #""lowest":\#(Int(sorted[0].rate)),"highest":\#(Int(sorted[runs.count - 1].rate)),"#
                    + #""p50_ms":\#(rounded(middle.median)),"p99_ms":\#(rounded(middle.p99)),"#
                    + #""fdatasync_p99_ms":\#(rounded(middle.syncP99)),"#
                    + #""cpu_seconds_per_million":\#(rounded(middle.cpuPerMillion)),"rss_anon_bytes":\#(memory)}"#
            )
            return
        }
        try output.line(
            "events                     \(events) in batches of \(batch), \(connections) connections, \(runs.count) runs"
        )
        try output.line(
            "events/s, median           \(Int(middle.rate)) (\(Int(sorted[0].rate)) to \(Int(sorted[runs.count - 1].rate)))"
        )
        try output.line("answer, p50 and p99        \(rounded(middle.median)) ms, \(rounded(middle.p99)) ms")
        try output.line("fdatasync here, p99        \(rounded(middle.syncP99)) ms")
        try output.line("CPU s per million events   \(rounded(middle.cpuPerMillion))")
        try output.line("RssAnon, largest           \(rounded(Double(memory) / 1_048_576)) MiB")
    }
}

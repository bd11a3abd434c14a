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
        from one thread over keep-alive connections, each of which waits for its answer before it posts again. Before that
        the same load goes to the floor: the bare accepting path, which makes bodies durable without validating them.

        Options:
        \(HelpText.table(
            BenchmarkOptions.help(events: 2_000_000, "Events of about 430 bytes.") + [
                ("--connections N", "Connections that post. Default: 256."),
                ("--batch N", "Events of a batch. Default: 20."),
                ("--idle N", "Further connections that post once and then stay idle. Default: 0."),
            ]
        ))

        Exit codes: 0 measured; 70 a program did not do what it should.

        Examples:
          sluice-bench endpoint --batch 1 --connections 64
        """

    private let options: BenchmarkOptions
    private let connections: Int
    private let batch: Int
    private let idle: Int

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        options = try BenchmarkOptions(&arguments, events: 2_000_000)
        connections = try arguments.integer("--connections", in: 1...20_000) ?? 256
        batch = try arguments.integer("--batch", in: 1...100) ?? 20
        idle = try arguments.integer("--idle", in: 0...20_000) ?? 0
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        var targets: [String: Figure.Target] = [
            "cpu_seconds_per_million": .atMost(3), "rss_anon_mib": .atMost(64), "disk_bytes_per_event": .atMost(150),
        ]
        if batch == 1 {
            targets = ["events_per_second": .atLeast(45_000), "rss_anon_mib": .atMost(64)]
        } else if batch == 20 && connections == 256 {
            targets["events_per_second"] = .atLeast(500_000)
            targets[Figure.ratioName] = .atLeast(0.6)
            targets["p99_ms"] = .atMost(20)
        }
        try options.measure(
            "endpoint",
            settings: [("connections", "\(connections)"), ("batch", "\(batch)"), ("idle", "\(idle)")],
            targets: targets,
            warmUp: options.shortRun,
            context
        ) { try runOnce($0, events: $1) }
        return .ok
    }

    private func runOnce(_ folder: String, events: Int) throws -> [BenchmarkOptions.Sample] {
        var times = try syncTimes(folder)
        let bare = try drive(try Floor.startEndpoint(folder), events)
        let own = try drive(try SampleBatch.startEndpoint(folder, spool: "\(folder)/spool"), events)
        times += try syncTimes(folder)
        times.sort()
        return [
            ("events_per_second", own.rate), ("floor_events_per_second", bare.rate),
            (Figure.ratioName, own.rate / bare.rate),
            ("p50_ms", own.median), ("p99_ms", own.p99), ("floor_p99_ms", bare.p99),
            ("cpu_seconds_per_million", own.cpuPerMillion), ("floor_cpu_seconds_per_million", bare.cpuPerMillion),
            ("rss_anon_mib", own.anonymousMebibytes),
            ("disk_bytes_per_event", Double(try Bench.bytes(in: "\(folder)/spool/ready")) / Double(own.accepted)),
            ("fdatasync_p99_ms", times[times.count * 99 / 100]),
        ]
    }

    private struct Drive {
        var accepted: Int
        var rate: Double
        var median: Double
        var p99: Double
        var cpuPerMillion: Double
        var anonymousMebibytes: Double
    }

    /// Posts `events` and ends the server.
    private func drive(_ server: ListeningProgram, _ events: Int) throws -> Drive {
        let load = try EndpointLoad(port: server.port, connections: connections, batch: batch, idle: idle)
        var meter = Meter(server.process)
        let watch = Stopwatch()
        try load.run(events: events) { meter.look() }
        let seconds = watch.seconds
        meter.look()
        let cpu = meter.cpuSeconds
        server.stop()
        return Drive(
            accepted: load.accepted,
            rate: Double(load.accepted) / seconds,
            median: load.latency(0.5),
            p99: load.latency(0.99),
            cpuPerMillion: cpu / Double(load.accepted) * 1e6,
            anonymousMebibytes: meter.anonymousMebibytes
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
            let watch = Stopwatch()
            try file.syncData()
            times.append(watch.milliseconds)
        }
        try FileSystem.remove(path)
        return times
    }
}

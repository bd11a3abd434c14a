// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-bench path`: endpoint and relay at once, as on a real machine.
struct PathBenchmark: Command {
    static let abstract = "Post to sluice-endpoint while sluice-relay delivers to graphjson-stub."
    static let usage = "[--events N] [--connections N] [--repeat N] [--json]"
    static let help = """
        Starts sluice-endpoint, sluice-relay run on its spool, and graphjson-stub, posts batches of 20, and waits until
        everything has been delivered. Before that the floors of endpoint and relay run at once with as many events.

        Options:
        \(HelpText.table(
            BenchmarkOptions.help(events: 2_000_000, "Events of about 430 bytes.") + [
                ("--connections N", "Connections that post. Default: 256."),
            ]
        ))

        Exit codes: 0 measured; 70 a program did not do what it should.
        """

    private static let batch = 20
    private static let inFlight = 16

    private let options: BenchmarkOptions
    private let connections: Int

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        options = try BenchmarkOptions(&arguments, events: 2_000_000)
        connections = try arguments.integer("--connections", in: 1...20_000) ?? 256
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        try options.measure(
            "path",
            settings: [("connections", "\(connections)")],
            targets: ["endpoint_rss_anon_mib": .atMost(64), "relay_rss_anon_mib": .atMost(64)],
            warmUp: options.shortRun,
            context
        ) { try runOnce($0, events: $1) }
        return .ok
    }

    /// Both floors at once.
    private func floor(_ folder: String, _ events: Int) throws -> Double {
        let endpoint = try Floor.startEndpoint(folder)
        let load = try load(endpoint)
        let watch = Stopwatch()
        let sending = try Floor.Sending(folder, events: events, inFlight: Self.inFlight)
        try load.run(events: events) {}
        _ = try sending.wait()
        let seconds = watch.seconds
        endpoint.stop()
        return Double(events) / seconds
    }

    private func load(_ endpoint: ListeningProgram) throws -> EndpointLoad {
        try EndpointLoad(port: endpoint.port, connections: connections, batch: Self.batch, idle: 0)
    }

    private func runOnce(_ folder: String, events: Int) throws -> [BenchmarkOptions.Sample] {
        let floorRate = try floor(folder, events)
        let spool = try SpoolFolder.open("\(folder)/spool", role: .writer).root
        let stub = try ListeningProgram(
            "graphjson-stub",
            ["--listen", "127.0.0.1:0", "--key", "bench"],
            output: "\(folder)/stub.out"
        )
        let relay = try RelayRun(folder, spool: spool, stub: stub, inFlight: Self.inFlight)
        let endpoint = try SampleBatch.startEndpoint(folder, spool: spool)
        let load = try load(endpoint)
        var meters = (endpoint: Meter(endpoint.process), relay: Meter(relay.process))
        let statistics = try StubStatistics(port: stub.port)
        let watch = Stopwatch()
        try load.run(events: events) {
            meters.endpoint.look()
            meters.relay.look()
        }
        let accepted = watch.seconds
        // Its end seals the last segment.
        let endpointCPU = meters.endpoint.cpuSeconds
        endpoint.stop()
        while try statistics.events().distinct < load.accepted {
            meters.relay.look()
            guard watch.seconds < accepted + 600, relay.process.poll() == nil else {
                throw CommandError(.software, "not everything is delivered")
            }
            usleep(5000)
        }
        let seconds = watch.seconds
        let relayCPU = meters.relay.cpuSeconds
        relay.stop()
        stub.stop()
        let count = Double(load.accepted)
        return [
            ("events_per_second", count / seconds), ("floor_events_per_second", floorRate),
            (Figure.ratioName, count / seconds / floorRate),
            ("p50_ms", load.latency(0.5)), ("p99_ms", load.latency(0.99)),
            ("delivered_after_last_answer_ms", (seconds - accepted) * 1000),
            ("endpoint_cpu_seconds_per_million", endpointCPU / count * 1e6),
            ("relay_cpu_seconds_per_million", relayCPU / count * 1e6),
            ("endpoint_rss_anon_mib", meters.endpoint.anonymousMebibytes),
            ("relay_rss_anon_mib", meters.relay.anonymousMebibytes),
        ]
    }
}

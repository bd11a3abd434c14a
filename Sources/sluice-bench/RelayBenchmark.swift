// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-bench relay`: sealed segments to a stub on this machine, through the real programs.
struct RelayBenchmark: Command {
    static let abstract = "Drain a spool of made-up events into graphjson-stub."
    static let usage = "[--events N] [--repeat N] [--json]"
    static let help = """
        Fills a spool in a folder of its own below the current one, starts graphjson-stub, runs sluice-relay drain, and
        reports events a second, CPU time and the largest anonymous resident memory (RssAnon) of the relay.

        Options:
          --events N   Events of about 435 bytes. Default: 1000000.
          --repeat N   Runs; the median counts. Default: 3.
          --second N   Events that share one timestamp. Default: 5000.
          --erased N   Persons on the list of erased ones, none of them in the events. Default: 0.
          --json       One JSON object instead of the table.

        Exit codes: 0 measured; 70 a program did not do what it should.

        Examples:
          sluice-bench relay --events 5000000
        """

    private let events: Int
    private let repeats: Int
    private let perSecond: Int
    private let erased: Int
    private let isJSON: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        events = try arguments.integer("--events", in: 1...100_000_000) ?? 1_000_000
        repeats = try arguments.integer("--repeat", in: 1...100) ?? 3
        perSecond = try arguments.integer("--second", in: 1...1_000_000) ?? 5_000
        erased = try arguments.integer("--erased", in: 0...ErasureList.maximumEntries) ?? 0
        isJSON = try arguments.flag("--json")
        _ = try arguments.remaining()
    }

    private struct Run {
        var seconds: Double
        var rate: Double
        var cpuPerMillion: Double
        var anonymousBytes: Int
        var contentBytes: Int
        var diskBytes: Int
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let folder = try Bench.makeFolder()
        defer { try? FileSystem.removeTree(folder) }
        var runs: [Run] = []
        for number in 0..<repeats { runs.append(try runOnce("\(folder)/\(number)")) }
        try report(runs, context.output)
        return .ok
    }

    private func runOnce(_ folder: String) throws -> Run {
        try FileSystem.makeFolder(folder, mode: 0o700)
        let spool = try SpoolFolder.open("\(folder)/spool", role: .writer)
        let sizes = try SampleSpool(folder: spool, recordsPerSecond: perSecond).fill(events)
        if erased > 0 {
            let persons = (0..<erased).map { Person(.user, "erased-\($0)") }
            try ErasureList(in: spool).add(persons, until: SystemClock.system.wallSeconds)
        }
        let stub = try ChildProcess(
            try Bench.program("graphjson-stub"),
            ["--listen", "127.0.0.1:0", "--key", "bench"],
            output: "\(folder)/stub.out"
        )
        let address = try Bench.address(in: "\(folder)/stub.out", of: stub)
        let begun = SystemClock.system.monotonicNanoseconds()
        let relay = try ChildProcess(
            try Bench.program("sluice-relay"),
            ["drain", "--spool", spool.root, "--graphjson-url", "http://\(address)"],
            environment: ["GRAPHJSON_API_KEY=bench"],
            output: "\(folder)/relay.out",
            errors: "\(folder)/relay.err"
        )
        var anonymous = 0
        while relay.poll() == nil {
            anonymous = max(anonymous, relay.memory("RssAnon") ?? 0)
            usleep(10_000)
        }
        let seconds = Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e9
        let ending = relay.wait()
        stub.send(SIGTERM)
        stub.wait()
        guard ending.code == 0 else {
            let errors = (try? FileSystem.contents(of: "\(folder)/relay.err", limit: 1 << 20)) ?? []
            throw CommandError(
                .software,
                "the drain ended with \(ending.code): \(String(decoding: errors, as: UTF8.self))"
            )
        }
        try FileSystem.removeTree(folder)
        return Run(
            seconds: seconds,
            rate: Double(events) / seconds,
            cpuPerMillion: ending.cpuSeconds / Double(events) * 1e6,
            anonymousBytes: anonymous,
            contentBytes: sizes.content,
            diskBytes: sizes.disk
        )
    }

    private func report(_ runs: [Run], _ output: Output) throws {
        let rates = runs.map(\.rate).sorted()
        let cpu = runs.map(\.cpuPerMillion).sorted()
        let middle = runs.count / 2
        let memory = runs.map(\.anonymousBytes).max() ?? 0
        let disk = Double(runs[0].diskBytes) / Double(events)
        if isJSON {
            try output.line(
                #"{"benchmark":"relay","events":\#(events),"runs":\#(runs.count),"events_per_second":\#(Int(rates[middle])),"#
                    + #""lowest":\#(Int(rates[0])),"highest":\#(Int(rates[rates.count - 1])),"#
                    + #""cpu_seconds_per_million":\#(cpu[middle]),"rss_anon_bytes":\#(memory),"#
                    + #""disk_bytes_per_event":\#(disk),"ndjson_bytes":\#(runs[0].contentBytes)}"#
            )
            return
        }
        func rounded(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
        try output.line(
            "events                     \(events), \(runs[0].contentBytes >> 20) MiB of NDJSON, \(runs.count) runs"
        )
        try output.line(
            "events/s, median           \(Int(rates[middle])) (\(Int(rates[0])) to \(Int(rates[rates.count - 1])))"
        )
        try output.line("CPU s per million events   \(rounded(cpu[middle]))")
        try output.line("RssAnon, largest           \(rounded(Double(memory) / 1_048_576)) MiB")
        try output.line("disk bytes per event       \(rounded(disk))")
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands

@main
struct Program {
    static func main() async {
        await CommandTable(
            program: "sluice-bench",
            abstract: "Measures Sluice, and tries to break it, with its real programs on this machine.",
            commands: [
                ("micro", MicroBenchmark.self), ("endpoint", EndpointBenchmark.self), ("relay", RelayBenchmark.self),
                ("path", PathBenchmark.self), ("latency", LatencyBenchmark.self),
                ("recovery", RecoveryBenchmark.self), ("soak", SoakCommand.self),
                ("check", CheckCommand.self), ("report", ReportCommand.self),
                ("floor endpoint", FloorEndpoint.self), ("floor sink", FloorSink.self), ("floor send", FloorSend.self),
            ]
        ).main()
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands

@main
struct Program {
    static func main() async {
        await CommandTable(
            program: "sluice-bench",
            abstract: "Measures Sluice, and tries to break it, with its real programs on this machine.",
            commands: [
                ("relay", RelayBenchmark.self), ("endpoint", EndpointBenchmark.self), ("soak", SoakCommand.self),
                ("recovery", RecoveryBenchmark.self),
            ]
        ).main()
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSoak
import SluiceSystem

/// The real programs of a soak: an endpoint, two relays, and the destination's stand-in.
final class SoakPrograms {
    private static let key = "soak-key"

    let endpointPort: UInt16
    let tools: RelayTools
    let endpoint: SoakProgram
    let relays: [SoakProgram]
    let stub: SoakProgram
    /// Clocks of their own, for those who may have one; empty when libfaketime is missing.
    let clocks: [String: FakeClock]
    private let launcher: Launcher

    var all: [SoakProgram] { [endpoint] + relays + [stub] }

    /// Describes the programs and starts none.
    init(folder: String, spool: String, record: String, random: inout SoakRandom) throws {
        let contract = "\(folder)/contract.json5"
        try File(opening: contract, O_WRONLY | O_CREAT).write(SoakPlan.contract)
        let (endpointPort, stubPort) = (try Loopback.freePort(), try Loopback.freePort())
        self.endpointPort = endpointPort
        let url = "http://127.0.0.1:\(stubPort)"
        let relayEnvironment = ["GRAPHJSON_API_KEY=\(Self.key)"] + Self.relaySettings
        tools = RelayTools(folder: folder, spool: spool, url: url, environment: relayEnvironment)
        let names = ["endpoint", "relay-1", "relay-2"]
        clocks = Dictionary(
            uniqueKeysWithValues: names.compactMap { name in FakeClock(folder: folder, name: name).map { (name, $0) } }
        )
        let launcher = Launcher(folder: folder, clocks: clocks)
        self.launcher = launcher
        stub = SoakProgram(name: "stub") {
            try launcher.start(
                "graphjson-stub",
                ["--listen", "127.0.0.1:\(stubPort)", "--key", Self.key, "--record", record],
                as: "stub"
            )
        }
        endpoint = SoakProgram(name: "endpoint") {
            try launcher.start(
                "sluice-endpoint",
                [
                    "serve", "--spool", spool, "--contract", contract, "--listen", "127.0.0.1:\(endpointPort)",
                    "--admin", "off",
                ],
                environment: Self.endpointSettings,
                as: "endpoint"
            )
        }
        var choice = SoakRandom(seed: random.next())
        relays = (1...2).map { number in
            SoakProgram(name: "relay-\(number)", ordinaryEnds: number == 1 ? [] : [0, 65, 69, 75]) {
                // The first is a sidecar; the second is one as well, or a drain that is started again and again.
                let isDrain = number == 2 && choice.below(3) > 0
                return try launcher.start(
                    "sluice-relay",
                    (isDrain ? ["drain"] : ["run", "--admin", "off"]) + ["--spool", spool, "--graphjson-url", url],
                    environment: relayEnvironment,
                    as: "relay-\(number)"
                )
            }
        }
    }

    private static let endpointSettings = [
        "SLUICE_RATE_LIMIT_USER=0", "SLUICE_RATE_LIMIT_ANONYMOUS=0", "SLUICE_RATE_LIMIT_ADDRESS=0",
        "SLUICE_LOG_LEVEL=warning",
    ]

    /// Shorter waits than in life, where an hour is nothing.
    private static let relaySettings = [
        "SLUICE_LOG_LEVEL=warning", "SLUICE_RELAY_BACKOFF_MAX_S=2", "SLUICE_RELAY_PROBE_MAX_S=1",
        "SLUICE_RELAY_REQUEST_TIMEOUT_S=5", "SLUICE_RELAY_DRAIN_PATIENCE_S=3", "SLUICE_RELAY_POISON_AFTER_S=3",
        "SLUICE_RELAY_POISON_AFTER_FAILURES=4", "SLUICE_RELAY_SPLIT_AFTER_FAILURES=3",
    ]

    func start() throws {
        for program in all { try program.start() }
        for program in [stub, endpoint] {
            guard let process = program.process else { continue }
            _ = try Bench.address(in: launcher.outputPath(program.name), of: process)
        }
    }

    /// From its next start on, the program has a clock of its own, which can be stepped; or no longer.
    func setClock(of name: String, isItsOwn: Bool) {
        if isItsOwn { launcher.faked.insert(name) } else { launcher.faked.remove(name) }
    }

    func resetClocks() { launcher.faked = [] }
}

/// Starts programs with their output in the soak's folder.
private final class Launcher {
    private let folder: String
    private let clocks: [String: FakeClock]
    var faked: Set<String> = []

    init(folder: String, clocks: [String: FakeClock]) {
        self.folder = folder
        self.clocks = clocks
    }

    func outputPath(_ name: String) -> String { "\(folder)/\(name).out" }

    func start(
        _ program: String,
        _ words: [String],
        environment: [String] = [],
        as name: String
    ) throws -> ChildProcess {
        var environment = environment
        if faked.contains(name), let clock = clocks[name] {
            try clock.set(0)
            environment += clock.environment
        }
        return try ChildProcess(
            try Bench.program(program),
            words,
            environment: environment,
            input: "/dev/null",
            output: outputPath(name),
            errors: "\(folder)/\(name).err"
        )
    }
}

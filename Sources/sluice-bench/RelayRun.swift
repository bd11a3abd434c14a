// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceHTTP
import SluiceSystem

/// `sluice-relay run` on a spool, and what its metrics say.
struct RelayRun {
    let process: ChildProcess
    private let metricsURL: String

    init(_ folder: String, spool: String, stub: ListeningProgram, inFlight: Int) throws {
        let admin = "127.0.0.1:\(try Loopback.freePort())"
        metricsURL = "http://\(admin)/metrics"
        process = try ChildProcess(
            try Bench.program("sluice-relay"),
            ["run", "--spool", spool, "--graphjson-url", "http://\(stub.address)", "--admin", admin],
            environment: [
                "GRAPHJSON_API_KEY=bench", "SLUICE_RELAY_MAX_IN_FLIGHT=\(inFlight)", "SLUICE_LOG_LEVEL=warning",
            ],
            output: "\(folder)/relay.out",
            errors: "\(folder)/relay.err"
        )
    }

    /// How many requests may be under way, and how many are; nil while it does not answer.
    func concurrency() -> (limit: Double, inFlight: Double)? {
        guard case .answer(let answer) = HTTPClient.exchange(.get(metricsURL)).result else { return nil }
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        func value(_ name: String) -> Double? {
            lines.first { $0.hasPrefix(name + " ") }.flatMap { Double($0.dropFirst(name.utf8.count + 1)) }
        }
        guard let limit = value("sluice_relay_concurrency_limit"),
            let inFlight = value("sluice_relay_in_flight_requests")
        else { return nil }
        return (limit, inFlight)
    }

    func stop() {
        process.send(SIGTERM)
        process.wait()
    }
}

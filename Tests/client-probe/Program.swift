// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient

/// A process with a client in it, for tests that kill it and for figures.
///
///     client-probe FOLDER URL track COUNT      tracks, prints each id, and stays until it is killed
///     client-probe FOLDER URL deliver COUNT    tracks and sends at the same time, until nothing is left
///     client-probe FOLDER URL flush            sends what is there
///     client-probe FOLDER URL benchmark COUNT  prints what tracking and sending cost
///
/// `CLIENT_PROBE_SHIFT` moves its clock by so many milliseconds.
@main
enum Program {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 3, let endpoint = URL(string: words[1]) else { exit(64) }
        let count = words.count > 3 ? Int(words[3]) ?? 0 : 0
        let client = try client(folder: words[0], endpoint: endpoint)
        try? await client.setConsent([.analytics])  // tried again by itself
        switch words[2] {
        case "track":
            await track(count, client)
            say("tracked")
            try await Task.sleep(for: .seconds(3600))
        case "deliver":
            for _ in 0..<max(1, count / 20) {
                async let flushed = client.flush()
                await track(20, client)
                _ = await flushed
            }
            say("\(await client.flush().end)")
        case "flush":
            let result = await client.flush()
            say("accepted \(result.accepted) rejected \(result.rejected) \(result.end)")
        case "benchmark": await benchmark(count, client)
        default: exit(64)
        }
    }

    private static func client(folder: String, endpoint: URL) throws -> SluiceClient {
        var configuration = SluiceConfiguration(
            endpoint: endpoint,
            folder: URL(fileURLWithPath: folder),
            appVersion: "1.2.3",
            buildNumber: "45",
            platform: "ios"
        )
        configuration.delivery = .manual
        var environment = ClientEnvironment.system()
        let shift = Int64(ProcessInfo.processInfo.environment["CLIENT_PROBE_SHIFT"] ?? "") ?? 0
        let now = environment.now
        environment.now = { now() + shift }
        return try SluiceClient(configuration, environment: environment)
    }

    private static func track(_ count: Int, _ client: SluiceClient) async {
        for number in 0..<count {
            let result = await client.track("screen_view", ["screen": "home", "number": .integer(number)])
            if case .persisted(let id) = result { say("id \(id)") }
        }
    }

    private static func benchmark(_ count: Int, _ client: SluiceClient) async {
        let clock = ContinuousClock()
        var times: [Duration] = []
        for number in 0..<count {
            times.append(
                await clock.measure {
                    await client.track("screen_view", ["screen": "home", "number": .integer(number)])
                }
            )
        }
        times.sort()
        let start = clock.now
        let result = await client.flush()
        say("track: median \(times[count / 2]), 99 % below \(times[count * 99 / 100]), longest \(times[count - 1])")
        say("flush: \(result.accepted) events in \(result.requests) requests, \(clock.now - start)")
    }

    /// Whole lines at once, so that a killed process has said what it has done.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient

/// A process with a client in it, for tests that kill it; `sluice-client-sample --measure` is for figures.
///
///     client-probe FOLDER URL track COUNT      tracks, prints each id, and stays until it is killed
///     client-probe FOLDER URL deliver COUNT    tracks and sends at the same time, until nothing is left
///     client-probe FOLDER URL flush            sends what is there
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

    /// Whole lines at once, so that a killed process has said what it has done.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}

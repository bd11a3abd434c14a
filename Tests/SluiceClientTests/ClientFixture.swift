// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

/// A client on a real file, with a clock, chance and network of the test's choice.
final class ClientFixture {
    let folder = TemporaryFolder()
    let clock: ManualClock
    let endpoint: FakeEndpoint
    var configuration: SluiceConfiguration
    private let chance = Chance()

    init(_ endpoint: FakeEndpoint = FakeEndpoint(), wallMilliseconds: Int64 = 1_796_000_000_000) throws {
        self.endpoint = endpoint
        clock = ManualClock(wallMilliseconds: wallMilliseconds)
        configuration = SluiceConfiguration(
            endpoint: URL(fileURLWithPath: "/"),
            folder: URL(fileURLWithPath: folder.path("client")),
            appVersion: "4.8.0",
            buildNumber: "842",
            platform: "ios"
        )
        configuration.endpoint = try #require(URL(string: "https://app.example.com/api/mobile-events"))
        configuration.delivery = .manual
    }

    var file: String { folder.path("client/sluice-client.sqlite") }

    /// A client as a new launch makes it.
    func launch() throws -> SluiceClient {
        let (endpoint, clock, chance) = (endpoint, clock.clock, chance)
        return try SluiceClient(
            configuration,
            environment: ClientEnvironment(
                now: { clock.wallMilliseconds() },
                random: { chance.next() },
                send: { try await endpoint.answer($0) }
            )
        )
    }

    /// A client that may collect.
    func consented(_ purposes: Set<SluicePurpose> = [.analytics]) async throws -> SluiceClient {
        let client = try launch()
        try await client.setConsent(purposes)
        return client
    }

    /// Waits longer than any backoff.
    func waitOut() { clock.advance(milliseconds: 3_600_001) }

    /// The envelopes in the file, oldest first.
    func queued() throws -> [String] {
        let database = try Database(file, creates: false)
        var envelopes: [String] = []
        try database.each("SELECT envelope FROM queue ORDER BY seq") { row in
            envelopes.append(row.text(0))
            return true
        }
        return envelopes
    }
}

/// Chance that is the same in every run.
private final class Chance: Sendable {
    private let state = Lock<UInt64>(1)

    // SplitMix64: https://prng.di.unimi.it/splitmix64.c
    func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}

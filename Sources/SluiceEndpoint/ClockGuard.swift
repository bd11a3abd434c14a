// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem
internal import Synchronization

/// Whether the server's own clock can be right: a wrong one would date every event wrongly, for good.
package final class ClockGuard: Sendable {
    /// No version of the program ran before this; Unix seconds, 2026-01-01.
    package static let buildSeconds = 1_767_225_600
    private static let toleratedSeconds = 86_400

    private let clock: SystemClock
    private let newest: Atomic<Int>

    /// Makes a guard that knows the time of the newest line of the ledger.
    package init(newestLedgerSeconds: Int, clock: SystemClock = .system) {
        self.clock = clock
        newest = Atomic(newestLedgerSeconds)
    }

    /// Notes that something was written down under this time.
    package func note(_ seconds: Int) {
        if seconds > newest.load(ordering: .relaxed) { newest.store(seconds, ordering: .relaxed) }
    }

    /// What is wrong with a time, a sentence; nil when it can be right.
    package func problem(at seconds: Int) -> String? {
        if seconds < Self.buildSeconds { return "the clock stands before this program was built" }
        let newest = newest.load(ordering: .relaxed)
        if seconds < newest - Self.toleratedSeconds {
            return "the clock stands more than a day before the newest line of the ledger"
        }
        return nil
    }

    package var problem: String? { problem(at: clock.wallSeconds) }
}

// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem
internal import Synchronization

/// Whether a program lives (a restart would not help) and whether it is ready (it can do its work now).
///
/// A full disk or a destination that is down makes a program not ready; only a loop that stopped turning makes it
/// not live.
package final class Health: Sendable {
    private struct State {
        var heartbeats: [(name: String, heartbeat: Heartbeat)] = []
        var problems: [String: String] = [:]
    }

    private let clock: SystemClock
    private let state = Lock(State())

    package init(clock: SystemClock = .system) {
        self.clock = clock
    }

    /// Registers a loop that has to turn at least every `limit` seconds.
    package func heartbeat(_ name: String, limitSeconds: Int) -> Heartbeat {
        let heartbeat = Heartbeat(limitSeconds: limitSeconds, clock: clock)
        state.withLock { $0.heartbeats.append((name, heartbeat)) }
        return heartbeat
    }

    /// Says why the program is not ready, under a name that `clear` takes back; a problem is a sentence.
    package func report(_ name: String, _ problem: String) {
        state.withLock { $0.problems[name] = problem }
    }

    package func clear(_ name: String) {
        state.withLock { $0.problems[name] = nil }
    }

    /// What keeps the program from working now; empty when it is ready.
    package var readinessProblems: [String] {
        state.withLock { $0.problems.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" } }
            + livenessProblems
    }

    /// The loops that stopped turning; empty when the program lives.
    package var livenessProblems: [String] {
        state.withLock { $0.heartbeats }.compactMap { name, heartbeat in
            let silence = heartbeat.silenceSeconds
            guard silence > heartbeat.limitSeconds else { return nil }
            return "\(name): has not turned for \(silence) s"
        }
    }
}

/// A loop's sign of life.
package final class Heartbeat: Sendable {
    package let limitSeconds: Int
    private let clock: SystemClock
    private let last: Atomic<Int64>
    private let resting = Atomic<Bool>(false)

    init(limitSeconds: Int, clock: SystemClock) {
        self.limitSeconds = limitSeconds
        self.clock = clock
        last = Atomic(clock.monotonicNanoseconds())
    }

    /// The loop turned.
    package func beat() {
        last.store(clock.monotonicNanoseconds(), ordering: .relaxed)
        resting.store(false, ordering: .relaxed)
    }

    /// The loop ended in good order, or waits for work without a limit; silence is right until the next beat.
    package func rest() { resting.store(true, ordering: .relaxed) }

    package var silenceSeconds: Int {
        if resting.load(ordering: .relaxed) { return 0 }
        return Int((clock.monotonicNanoseconds() - last.load(ordering: .relaxed)) / 1_000_000_000)
    }
}

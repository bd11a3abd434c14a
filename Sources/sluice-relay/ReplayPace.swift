// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSystem

/// How fast records are let go of, and the wish to stop meanwhile.
///
/// The desk itself holds the pace: it moves a slice of records into `ready/` and waits before the next. So no relay has
/// to know of it, several relays cannot exceed it together, and whatever ends the command leaves the rest in quarantine.
final class ReplayPace: Sendable {
    let eventsPerSecond: Double
    /// Records of a slice: a second's worth, at least a full request's.
    let sliceRecords: Int
    private let isStopped = Lock(false)
    private let signal = Signal()

    init(eventsPerSecond: Double) {
        self.eventsPerSecond = eventsPerSecond
        sliceRecords = max(50, Int(eventsPerSecond))
    }

    /// Ends the wait, and the replay after the slice at hand.
    func stop() {
        isStopped.withLock { $0 = true }
        signal.raise()
    }

    /// - Returns: false when it was stopped.
    func wait(seconds: Double) -> Bool {
        let clock = SystemClock.system
        let end = clock.monotonicNanoseconds() + Int64(min(seconds, 86_400) * 1e9)
        while !isStopped.withLock({ $0 }) {
            let left = end - clock.monotonicNanoseconds()
            if left <= 0 { return true }
            signal.wait(nanoseconds: left)
        }
        return false
    }
}

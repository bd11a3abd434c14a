// SPDX-License-Identifier: Apache-2.0

/// What becomes of an event whose device clock makes it implausibly old or puts it into the future.
///
/// The age is the time of receipt minus `occurred_at`. An offline event is old with a right clock, so nothing inside
/// the window is ever touched, and what is changed is marked, with the original kept.
package struct ClockPolicy: Hashable, Sendable {
    package enum Action: String, CaseIterable, Sendable {
        case reject
        /// Accepted and durable, but not sent until somebody replays it.
        case quarantine
        /// The timestamp moves into the window; `occurred_at` stays as it is.
        case clamp
        case off
    }

    /// Seconds that an event may lie in the past.
    package var maximumAge: Int
    package var onAge: Action
    /// Seconds that an event may lie in the future.
    package var maximumFuture: Int
    package var onFuture: Action

    package init(
        maximumAge: Int = 30 * 86_400,
        onAge: Action = .quarantine,
        maximumFuture: Int = 300,
        onFuture: Action = .clamp
    ) {
        self.maximumAge = maximumAge
        self.onAge = onAge
        self.maximumFuture = maximumFuture
        self.onFuture = onFuture
    }

    /// No policy at all, for historic data.
    package static let off = ClockPolicy(onAge: .off, onFuture: .off)

    package enum Verdict: Hashable, Sendable {
        case keep
        /// Deliver under this time, marked as corrected.
        case clamp(Int)
        case quarantine(EventCode)
        case reject(EventCode)
    }

    /// Judges one event.
    ///
    /// All times are Unix seconds; the distance from `clientSentAt`, when the client sent it by its own clock, to
    /// `receivedAt` is the clock's error.
    package func judge(occurredAt: Int, receivedAt: Int, clientSentAt: Int?) -> Verdict {
        let earliest = receivedAt - maximumAge
        let latest = receivedAt + maximumFuture
        if occurredAt < earliest {
            return verdict(onAge, .occurredAtTooOld) {
                corrected(occurredAt, receivedAt, clientSentAt, earliest...max(earliest, latest)) ?? earliest
            }
        }
        if occurredAt > latest {
            return verdict(onFuture, .occurredAtInFuture) {
                corrected(occurredAt, receivedAt, clientSentAt, min(earliest, latest)...latest) ?? latest
            }
        }
        return .keep
    }

    private func verdict(_ action: Action, _ code: EventCode, _ clamped: () -> Int) -> Verdict {
        switch action {
        case .off: .keep
        case .clamp: .clamp(clamped())
        case .quarantine: .quarantine(code)
        case .reject: .reject(code)
        }
    }

    private func corrected(
        _ occurredAt: Int,
        _ receivedAt: Int,
        _ clientSentAt: Int?,
        _ window: ClosedRange<Int>
    ) -> Int? {
        guard let clientSentAt else { return nil }
        let moved = occurredAt + (receivedAt - clientSentAt)
        return window.contains(moved) ? moved : nil
    }
}

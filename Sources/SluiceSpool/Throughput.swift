// SPDX-License-Identifier: Apache-2.0

/// What was accepted and delivered in the last hour, as the ledger's lines tell it.
///
/// A record counts when the segment it is in was sealed, and when that segment was finished.
package struct Throughput: Hashable, Sendable {
    package struct Interval: Hashable, Sendable {
        package var accepted = 0
        package var delivered = 0

        package init() {}
    }

    /// Seconds of an interval.
    static let intervalSeconds = 10
    /// Seconds that are kept.
    package static let seconds = 3600

    /// By the number of the interval since 1970.
    private var intervals: [Int: Interval] = [:]
    private var newest = 0

    mutating func add(accepted: Int = 0, delivered: Int = 0, at seconds: Int) {
        let number = seconds / Self.intervalSeconds
        guard number > newest - Self.seconds / Self.intervalSeconds else { return }
        intervals[number, default: Interval()].accepted += accepted
        intervals[number, default: Interval()].delivered += delivered
        guard number > newest else { return }
        newest = number
        if intervals.count > 2 * Self.seconds / Self.intervalSeconds {
            intervals = intervals.filter { $0.key > number - Self.seconds / Self.intervalSeconds }
        }
    }

    /// Adds lines that were not told before.
    mutating func add(_ more: Throughput) {
        for (number, interval) in more.intervals {
            add(
                accepted: interval.accepted,
                delivered: interval.delivered,
                at: number * Self.intervalSeconds
            )
        }
    }

    /// Takes what a ledger tells that was read from its beginning, because it was folded: it has forgotten lines, and tells
    /// others a second time.
    mutating func keep(_ told: Throughput) {
        for (number, new) in told.intervals {
            var interval = intervals[number] ?? Interval()
            interval.accepted = max(interval.accepted, new.accepted)
            interval.delivered = max(interval.delivered, new.delivered)
            intervals[number] = interval
        }
        newest = max(newest, told.newest)
    }

    /// Records of the last `seconds` before `now`, both Unix seconds, to the interval.
    package func total(seconds: Int, now: Int) -> Interval {
        var total = Interval()
        for (number, interval) in intervals where number * Self.intervalSeconds > now - seconds {
            total.accepted += interval.accepted
            total.delivered += interval.delivered
        }
        return total
    }

    /// The last hour minute by minute, the oldest first; the last one has just begun.
    package func minutes(now: Int) -> [Interval] {
        let count = Self.seconds / 60
        var minutes = [Interval](repeating: Interval(), count: count)
        for (number, interval) in intervals {
            let age = now / 60 - number * Self.intervalSeconds / 60
            guard age >= 0, age < count else { continue }
            minutes[count - 1 - age].accepted += interval.accepted
            minutes[count - 1 - age].delivered += interval.delivered
        }
        return minutes
    }
}

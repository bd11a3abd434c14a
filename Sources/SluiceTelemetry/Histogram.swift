// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// How values spread over fixed ranges, such as the seconds of a request.
package final class Histogram: Sendable {
    /// Seconds from half a millisecond to a minute.
    package static let secondsBounds: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    private struct State {
        var counts: [Int]
        var sum = 0.0
    }

    /// Upper bounds of the ranges, ascending; one more range without bound follows.
    package let bounds: [Double]
    private let state: Lock<State>

    package init(bounds: [Double] = Histogram.secondsBounds) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "bounds of a histogram must ascend")
        self.bounds = bounds
        state = Lock(State(counts: [Int](repeating: 0, count: bounds.count + 1)))
    }

    package func record(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock {
            $0.counts[index] += 1
            $0.sum += value
        }
    }

    package func record(nanoseconds: Int64) { record(Double(nanoseconds) / 1e9) }

    package func record(duration: Duration) {
        let (seconds, attoseconds) = duration.components
        record(Double(seconds) + Double(attoseconds) / 1e18)
    }

    /// Values per range, not added up, and the sum of all values, taken at one moment.
    package var snapshot: (counts: [Int], sum: Double) {
        state.withLock { ($0.counts, $0.sum) }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Exponential backoff with full jitter: a wait drawn evenly from zero to a limit that doubles up to a cap.
package struct Backoff: Sendable, Equatable {
    /// The first limit in seconds.
    package var minimumSeconds: Double
    /// The largest limit in seconds.
    package var maximumSeconds: Double

    package init(minimumSeconds: Double, maximumSeconds: Double) {
        self.minimumSeconds = minimumSeconds
        self.maximumSeconds = maximumSeconds
    }

    /// The longest wait after `failures` failures in a row, in nanoseconds; `failures` is at least 1.
    package func limit(after failures: Int) -> Int64 {
        let doublings = Double(min(max(failures - 1, 0), 40))
        let seconds = min(maximumSeconds, minimumSeconds * pow2(doublings))
        return Int64(seconds * 1e9)
    }

    /// The wait after `failures` failures in a row, in nanoseconds; `random` is a number from 0 up to 1.
    package func wait(after failures: Int, random: Double) -> Int64 {
        Int64(Double(limit(after: failures)) * random)
    }

    private func pow2(_ exponent: Double) -> Double { Double(sign: .plus, exponent: Int(exponent), significand: 1) }
}

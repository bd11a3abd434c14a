// SPDX-License-Identifier: Apache-2.0

/// How long delivery waits after failures: full jitter, so that phones that failed together do not come back together.
package enum Backoff {
    /// The most that is ever waited, whoever asks for it.
    package static let maximumMilliseconds: Int64 = 3_600_000
    private static let baseMilliseconds: Int64 = 5000

    /// A random time from a second up to 5 s, 10 s, 20 s and so on, at most an hour.
    ///
    /// - Parameters:
    ///   - failures: failures in a row before this one.
    ///   - random: 64 random bits; the upper 53 are the fraction of the longest wait.
    /// - Returns: milliseconds.
    package static func delay(afterFailures failures: Int, random: UInt64) -> Int64 {
        let doublings = min(max(failures, 0), 16)
        let longest = min(maximumMilliseconds, baseMilliseconds << Int64(doublings))
        let fraction = Double(random >> 11) / Double(1 << 53 as Int64)
        return max(1000, Int64(Double(longest) * fraction))
    }
}

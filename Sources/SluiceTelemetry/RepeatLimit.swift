// SPDX-License-Identifier: Apache-2.0

/// Keeps a message that repeats from filling the log: a burst passes, then a trickle, and the next line that passes
/// says how many did not.
package struct RepeatLimit: Sendable {
    /// How often one message may be written.
    package struct Allowance: Sendable {
        /// Lines that pass at once.
        package var burst: Double
        /// Lines that pass a second from then on.
        package var perSecond: Double

        package init(burst: Double, perSecond: Double) {
            self.burst = burst
            self.perSecond = perSecond
        }

        package static let usual = Allowance(burst: 20, perSecond: 0.2)
        /// For `debug` and `trace`, which somebody asked for.
        package static let detailed = Allowance(burst: 500, perSecond: 50)
    }

    package enum Verdict: Hashable, Sendable {
        /// Write it, and say how many of its kind were dropped before.
        case write(dropped: Int)
        case drop
    }

    private struct Bucket {
        var tokens: Double
        var time: Int64
        var dropped = 0
    }

    private var buckets: [String: Bucket] = [:]
    private let maximumMessages: Int

    package init(maximumMessages: Int = 256) {
        self.maximumMessages = maximumMessages
    }

    /// Judges one more line of `message` at `milliseconds` of any clock.
    package mutating func judge(_ message: String, _ allowance: Allowance, milliseconds: Int64) -> Verdict {
        var bucket = buckets[message] ?? Bucket(tokens: allowance.burst, time: milliseconds)
        let seconds = Double(max(0, milliseconds - bucket.time)) / 1000
        bucket.tokens = min(allowance.burst, bucket.tokens + seconds * allowance.perSecond)
        bucket.time = milliseconds
        var verdict = Verdict.drop
        if bucket.tokens >= 1 {
            bucket.tokens -= 1
            verdict = .write(dropped: bucket.dropped)
            bucket.dropped = 0
        } else {
            bucket.dropped += 1
        }
        if buckets.count >= maximumMessages && buckets[message] == nil { forgetOldest() }
        buckets[message] = bucket
        return verdict
    }

    private mutating func forgetOldest() {
        guard let oldest = buckets.min(by: { $0.value.time < $1.value.time }) else { return }
        buckets[oldest.key] = nil
    }
}

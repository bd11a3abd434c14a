// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// A token bucket's numbers; a rate of 0 is off.
package struct RateLimit: Hashable, Sendable {
    package var eventsPerSecond: Double
    package var burst: Double

    package init(eventsPerSecond: Double, burst: Double) {
        self.eventsPerSecond = eventsPerSecond
        self.burst = burst
    }

    package static let off = RateLimit(eventsPerSecond: 0, burst: 1)

    package var isOff: Bool { eventsPerSecond <= 0 }
}

/// Token buckets by 64-bit key in a table of fixed size.
///
/// A key has its place in one set of eight buckets. When all are taken, the new key gets the bucket that is nearest to
/// full, because forgetting that one forgets the least: whoever floods the table with invented ids evicts other invented
/// ids, and somebody who is being limited stays limited. A full bucket and an unknown one are the same.
///
/// A batch larger than the burst passes when the bucket is full and leaves a debt, so that no batch waits for ever.
///
/// `@unchecked Sendable`: a bucket is only touched under the lock of its set's shard; the table's address never changes.
package final class RateLimiter: @unchecked Sendable {
    private struct Bucket {
        /// 0 is free.
        var key: UInt64
        var tokens: Double
        var time: Int64
    }

    private static let ways = 8
    private static let shards = 16

    private let buckets: UnsafeMutablePointer<Bucket>
    private let setMask: Int
    private let locks: [ThreadLock]
    private let clock: SystemClock
    /// Keys that the table holds.
    package let capacity: Int

    /// Makes a table of a power of two from 128 buckets, 24 bytes each, which the kernel hands out as they are touched.
    package init(capacity: Int, clock: SystemClock = .system) {
        precondition(capacity >= 128 && capacity & (capacity - 1) == 0, "a table's size is a power of two")
        self.capacity = capacity
        self.clock = clock
        setMask = capacity / Self.ways - 1
        guard let memory = calloc(capacity, MemoryLayout<Bucket>.stride) else {
            fatalError("out of memory for rate limits")
        }
        buckets = memory.bindMemory(to: Bucket.self, capacity: capacity)
        locks = (0..<Self.shards).map { _ in ThreadLock() }
    }

    deinit { free(buckets) }

    /// Takes tokens.
    ///
    /// - Returns: nil when they were there; else the seconds until they are, and nothing was taken.
    package func take(_ count: Int, for key: UInt64, of limit: RateLimit) -> Double? {
        if limit.isOff || count <= 0 { return nil }
        return withBucket(key, limit) { bucket in
            let needed = min(Double(count), limit.burst)
            if bucket.tokens >= needed {
                bucket.tokens -= Double(count)
                return nil
            }
            return (needed - bucket.tokens) / limit.eventsPerSecond
        }
    }

    /// Gives tokens back that were taken for what did not happen.
    package func giveBack(_ count: Int, for key: UInt64, of limit: RateLimit) {
        if limit.isOff || count <= 0 { return }
        withBucket(key, limit) { $0.tokens = min(limit.burst, $0.tokens + Double(count)) }
    }

    /// The seconds until there is at least one token; nil when there is one.
    package func wait(for key: UInt64, of limit: RateLimit) -> Double? {
        if limit.isOff { return nil }
        return withBucket(key, limit) { $0.tokens >= 1 ? nil : (1 - $0.tokens) / limit.eventsPerSecond }
    }

    private func withBucket<Result>(_ key: UInt64, _ limit: RateLimit, _ body: (inout Bucket) -> Result) -> Result {
        let key = key == 0 ? 1 : key
        let set = Int(truncatingIfNeeded: key >> 32) & setMask
        let lock = locks[set & (Self.shards - 1)]
        let now = clock.monotonicNanoseconds()
        lock.lock()
        defer { lock.unlock() }
        let first = buckets + set * Self.ways
        var chosen = first
        var fullest = -Double.infinity
        for way in 0..<Self.ways {
            let bucket = first + way
            if bucket.pointee.key == key {
                chosen = bucket
                Self.refill(&bucket.pointee, limit, now)
                return body(&bucket.pointee)
            }
            let share = bucket.pointee.key == 0 ? .infinity : Self.tokens(bucket.pointee, limit, now) / limit.burst
            if share > fullest {
                fullest = share
                chosen = bucket
            }
        }
        chosen.pointee = Bucket(key: key, tokens: limit.burst, time: now)
        return body(&chosen.pointee)
    }

    private static func tokens(_ bucket: Bucket, _ limit: RateLimit, _ now: Int64) -> Double {
        let seconds = Double(max(0, now - bucket.time)) / 1e9
        return min(limit.burst, bucket.tokens + seconds * limit.eventsPerSecond)
    }

    private static func refill(_ bucket: inout Bucket, _ limit: RateLimit, _ now: Int64) {
        bucket.tokens = tokens(bucket, limit, now)
        bucket.time = now
    }
}

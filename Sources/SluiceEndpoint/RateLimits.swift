// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceServer
internal import SluiceSystem

/// Who sends how fast: the tables of users, anonymous ids and addresses.
final class RateLimits: Sendable {
    /// Whose bucket was empty; the label of the metric.
    enum Key: String, CaseIterable {
        case address
        case user
        case anonymous
    }

    struct Refusal {
        var key: Key
        var seconds: Double
    }

    /// Seeds all keys; secret, so that nobody can invent ids that fall into one set.
    let seed = UInt64.random(in: .min ... .max)
    private let users: RateLimiter
    private let anonymous: RateLimiter
    private let addresses: RateLimiter

    init(clock: SystemClock) {
        users = RateLimiter(capacity: 1 << 15, clock: clock)
        anonymous = RateLimiter(capacity: 1 << 16, clock: clock)
        addresses = RateLimiter(capacity: 1 << 15, clock: clock)
    }

    func key(of address: PeerAddress) -> UInt64 {
        let network = address.network
        return withUnsafeBytes(of: (network.high, network.low)) { IdentityHash.value(of: $0, seed: seed) }
    }

    func key(ofUser id: [UInt8]) -> UInt64 { id.withUnsafeBytes { IdentityHash.value(of: $0, seed: seed) } }

    /// Seconds until an address that has used up everything may come again.
    func wait(address: UInt64, _ limit: RateLimit) -> Double? { addresses.wait(for: address, of: limit) }

    /// Takes tokens for one request that holds no batch that can be read.
    func takeOne(address: UInt64, _ limit: RateLimit) { _ = addresses.take(1, for: address, of: limit) }

    /// Takes tokens for a batch from all three tables, or from none; an address or a user that is nil is not limited.
    func take(
        _ verdict: borrowing BatchVerdict,
        address: UInt64?,
        user: UInt64?,
        _ policy: EndpointPolicy
    ) -> Refusal? {
        let limits = policy.rateLimits
        let total = max(1, verdict.events.count)
        if let address, let seconds = addresses.take(total, for: address, of: limits.address) {
            return Refusal(key: .address, seconds: seconds)
        }
        let taken = verdict.accepted + verdict.quarantined
        if let user, let seconds = users.take(taken, for: user, of: limits.user) {
            if let address { addresses.giveBack(total, for: address, of: limits.address) }
            return Refusal(key: .user, seconds: seconds)
        }
        guard !limits.anonymous.isOff, let failed = takeAnonymous(verdict, limits.anonymous) else { return nil }
        if let user { users.giveBack(taken, for: user, of: limits.user) }
        if let address { addresses.giveBack(total, for: address, of: limits.address) }
        return Refusal(key: .anonymous, seconds: failed)
    }

    private func takeAnonymous(_ verdict: borrowing BatchVerdict, _ limit: RateLimit) -> Double? {
        let end = verdict.events.count
        var start = 0
        while start < end {
            let (count, next) = Self.run(verdict, from: start)
            if count > 0, let seconds = anonymous.take(count, for: verdict.events[start].identity, of: limit) {
                giveBack(verdict, upTo: start, limit)
                return seconds
            }
            start = next
        }
        return nil
    }

    private func giveBack(_ verdict: borrowing BatchVerdict, upTo end: Int, _ limit: RateLimit) {
        var start = 0
        while start < end {
            let (count, next) = Self.run(verdict, from: start)
            anonymous.giveBack(count, for: verdict.events[start].identity, of: limit)
            start = next
        }
    }

    /// Events from `start` on that share an id; most batches hold only one.
    private static func run(_ verdict: borrowing BatchVerdict, from start: Int) -> (count: Int, next: Int) {
        let identity = verdict.events[start].identity
        var next = start + 1
        while next < verdict.events.count, verdict.events[next].identity == identity { next += 1 }
        return (identity == 0 ? 0 : next - start, next)
    }
}

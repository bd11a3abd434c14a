// SPDX-License-Identifier: Apache-2.0
import SluiceEndpoint
import SluiceEvents
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

struct RateLimiterTests {
    private let clock = ManualClock()
    private let limit = RateLimit(eventsPerSecond: 10, burst: 100)

    private func limiter(_ capacity: Int = 1024) -> RateLimiter { RateLimiter(capacity: capacity, clock: clock.clock) }

    @Test func `a bucket gives its burst and then its rate`() throws {
        let limiter = limiter()
        #expect(limiter.take(60, for: 7, of: limit) == nil)
        #expect(limiter.take(40, for: 7, of: limit) == nil)
        #expect(limiter.take(20, for: 7, of: limit) == 2)
        #expect(limiter.take(20, for: 8, of: limit) == nil)
        clock.advance(milliseconds: 1999)
        #expect(limiter.take(20, for: 7, of: limit) != nil)
        clock.advance(milliseconds: 1)
        #expect(limiter.take(20, for: 7, of: limit) == nil)
        #expect(limiter.wait(for: 7, of: limit).map { ($0 * 1000).rounded() } == 100)
    }

    @Test func `a batch larger than the burst passes when the bucket is full and leaves a debt`() {
        let limiter = limiter()
        #expect(limiter.take(150, for: 7, of: limit) == nil)
        #expect(limiter.take(1, for: 7, of: limit).map { ($0 * 1000).rounded() } == 5100)
        clock.advance(milliseconds: 5100)
        #expect(limiter.take(1, for: 7, of: limit) == nil)
    }

    @Test func `what is given back can be taken again`() {
        let limiter = limiter()
        #expect(limiter.take(100, for: 7, of: limit) == nil)
        limiter.giveBack(50, for: 7, of: limit)
        #expect(limiter.take(50, for: 7, of: limit) == nil)
        limiter.giveBack(500, for: 7, of: limit)
        #expect(limiter.take(101, for: 7, of: limit) == nil)
    }

    @Test func `a limit that is off takes nothing`() {
        let limiter = limiter()
        for _ in 0..<10 { #expect(limiter.take(1_000_000, for: 7, of: .off) == nil) }
    }

    @Test func `a flood of invented ids does not free somebody who is limited`() {
        let limiter = limiter(1024)
        var random = SystemRandomNumberGenerator()
        #expect(limiter.take(100, for: 0xABCD_EF01_2345_6789, of: limit) == nil)
        for _ in 0..<100_000 { _ = limiter.take(1, for: random.next(), of: limit) }
        #expect(limiter.take(1, for: 0xABCD_EF01_2345_6789, of: limit) != nil)
    }

    @Test func `the clock going back gives nothing`() {
        let limiter = limiter()
        #expect(limiter.take(100, for: 7, of: limit) == nil)
        clock.advance(milliseconds: -60_000)
        #expect(limiter.take(1, for: 7, of: limit) == 0.1)
    }
}

/// Limits as clients meet them.
@Suite(.timeLimit(.minutes(2)))
struct RateLimitTests {
    /// So slow that nothing comes back during a test.
    private func slow(_ burst: Double) -> RateLimit { RateLimit(eventsPerSecond: 0.01, burst: burst) }

    private func expectLimited(_ answer: RawAnswer, _ key: String, _ probe: EndpointProbe) {
        #expect(answer.status == 429)
        #expect(answer.member("code") == "rate_limited")
        #expect((answer.header("Retry-After").flatMap { Int($0) } ?? 0) > 50)
        #expect(probe.metric("sluice_endpoint_rate_limited_total{key=\"\(key)\"}") ?? 0 >= 1)
    }

    @Test func `an anonymous id has its own bucket`() async throws {
        let limit = slow(10)
        let probe = try EndpointProbe(settings: { $0.rateLimits.anonymous = limit })
        #expect(try await probe.post(Batch.of(10)).status == 200)
        expectLimited(try await probe.post(Batch.of(1)), "anonymous", probe)
        #expect(try await probe.post(Batch.of(10, ["anonymous_id": #""anon-2""#])).status == 200)
        // One of two devices in a batch is limited: nothing is taken, and the other keeps its tokens.
        let third = Batch.event("c", ["anonymous_id": #""anon-3""#])
        for _ in 0..<15 { expectLimited(try await probe.post(Batch.body(third, Batch.event("d"))), "anonymous", probe) }
        #expect(try await probe.post(Batch.of(10, prefix: "g", ["anonymous_id": #""anon-3""#])).status == 200)
        #expect(try probe.spooled().count == 30)
    }

    @Test func `an address is limited before its body is read`() async throws {
        let limit = slow(5)
        let probe = try EndpointProbe(settings: { $0.rateLimits.address = limit })
        #expect(try await probe.post(Batch.of(3)).status == 200)
        #expect(try await probe.post("no JSON").status == 400)
        #expect(try await probe.post(Batch.of(1)).status == 200)
        expectLimited(try await probe.post(Batch.of(1)), "address", probe)
        #expect(try probe.spooled().count == 4)
    }

    @Test func `behind a trusted proxy the client's address counts, and IPv6 by its 64 bits`() async throws {
        let limit = slow(5)
        let probe = try EndpointProbe(settings: {
            $0.rateLimits.address = limit
            $0.trustedProxies = NetworkList(parsing: ["127.0.0.1"]) ?? NetworkList()
        })
        func post(_ address: String) async throws -> Int {
            try await probe.post(Batch.of(5), headers: ["X-Forwarded-For: \(address)"]).status
        }
        #expect(try await post("203.0.113.9") == 200)
        #expect(try await post("203.0.113.9") == 429)
        #expect(try await post("203.0.113.9, 198.51.100.1") == 200)
        #expect(try await post("2001:db8:0:1::1") == 200)
        #expect(try await post("2001:db8:0:1:ffff::2") == 429)
        #expect(try await post("2001:db8:0:2::1") == 200)
    }

    @Test func `a signed-in user has one bucket for all devices`() async throws {
        let secret = Array("a secret of more than thirty-two bytes".utf8)
        let limit = slow(10)
        let tokens = TokenVerifier(TokenRules(algorithm: .hs256), keys: [secret])
        let probe = try EndpointProbe(tokens: tokens, settings: { $0.rateLimits.user = limit })
        func bearer(_ user: String) -> [String] {
            ["Authorization: Bearer \(TokenMint(.hs256, key: secret).token("{\"sub\":\"\(user)\"}"))"]
        }
        #expect(try await probe.post(Batch.of(10), headers: bearer("u1")).status == 200)
        expectLimited(
            try await probe.post(Batch.of(1, ["anonymous_id": #""other""#]), headers: bearer("u1")),
            "user",
            probe
        )
        #expect(try await probe.post(Batch.of(10), headers: bearer("u2")).status == 200)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceRelay
import Testing

/// Case C70.
struct BackoffTests {
    private let backoff = Backoff(minimumSeconds: 0.5, maximumSeconds: 60)

    @Test(arguments: [(1, 0.5), (2, 1), (3, 2), (7, 32), (8, 60), (1000, 60)])
    func `the limit doubles from half a second to a minute`(failures: Int, seconds: Double) {
        #expect(backoff.limit(after: failures) == Int64(seconds * 1e9))
    }

    @Test func `the wait is drawn from nothing up to the limit`() {
        #expect(backoff.wait(after: 3, random: 0) == 0)
        #expect(backoff.wait(after: 3, random: 0.5) == 1_000_000_000)
        #expect(backoff.wait(after: 3, random: 0.999_999) < backoff.limit(after: 3))
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceClient
import Testing

struct BatchTests {
    @Test func `a body holds the stored bytes, the time of the attempt and what was lost`() {
        let body = BatchBody.encode(
            events: [Array(#"{"a":1}"#.utf8), Array(#"{"b":2}"#.utf8)],
            drops: ["overflow": 10, "expired": 3],
            clientSentAt: 1_796_000_000
        )
        #expect(
            String(decoding: body, as: UTF8.self)
                == #"{"client_sent_at":1796000000,"drops":{"expired":3,"overflow":10},"events":[{"a":1},{"b":2}]}"#
        )
        let bare = BatchBody.encode(events: [], drops: [:], clientSentAt: 0)
        #expect(String(decoding: bare, as: UTF8.self) == #"{"client_sent_at":0,"events":[]}"#)
    }

    @Test(
        arguments: [
            ([], []), ([10], [1]), ([500], [1]), ([500, 10, 500], [1, 1, 1]), ([33, 32, 33], [3]),
            ([33, 33, 33], [2, 1]),
            ([1, 1, 1, 1, 1, 1], [5, 1]), ([1, 1, 1, 1, 1], [5]), ([100, 100], [1, 1]), ([99, 1], [1, 1]),
            ([98, 1], [2]),
        ] as [([Int], [Int])]
    )
    func `batches end at their count or their bytes, commas included`(sizes: [Int], counts: [Int]) {
        #expect(BatchBody.cut(sizes: sizes, maximumEvents: 5, maximumBytes: 100) == counts)
    }

    @Test func `backoff doubles, has full jitter, and stays between a second and an hour`() {
        #expect(Backoff.delay(afterFailures: 0, random: .max) == 4999)
        #expect(Backoff.delay(afterFailures: 1, random: .max) == 9999)
        #expect(Backoff.delay(afterFailures: 3, random: 1 << 63) == 20_000)
        #expect(Backoff.delay(afterFailures: 9, random: 1 << 63) == 1_280_000)
        #expect(Backoff.delay(afterFailures: 10, random: 1 << 63) == 1_800_000)
        #expect(Backoff.delay(afterFailures: .max, random: .max) == 3_599_999)
        #expect(Backoff.delay(afterFailures: 20, random: 0) == 1000)
    }

    @Test(
        arguments: [
            ("0", 1), ("1", 1), ("120", 120), ("3600", 3600), ("3601", 3600), ("99999999999999999999", 3600), ("", nil),
            ("-1", nil), ("1.5", nil), ("soon", nil), ("Sun, 06 Nov 1994 08:49:37 GMT", 10),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 10),
            ("Sun Nov  6 08:49:37 1994", 10), ("Sun, 06 Nov 1994 08:49:20 GMT", 1),
            ("Mon, 06 Nov 2094 08:49:20 GMT", 3600),
            ("Sun, 06 Nov 1994 08:49:37 PST", nil), ("Sun, 06 Nov 1994 25:49:37 GMT", nil),
            ("Sun, 06 Foo 1994 08:49:37 GMT", nil),
        ] as [(String, Int?)]
    )
    func `Retry-After is seconds or any form of date`(value: String, seconds: Int?) {
        #expect(RetryAfter.seconds(value, now: 784_111_767) == seconds)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceGraphJSON
import Testing

struct RetryAfterTests {
    /// 1994-11-06 08:49:07.
    static let now = 784_111_747

    @Test(
        arguments: [
            ("2", 2), ("120", 120), ("3600", 3600), ("3601", 3600), ("999999999", 3600),
            ("99999999999999999999999999", 3600),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 30), ("Sunday, 06-Nov-94 08:49:37 GMT", 30),
            ("Sun Nov  6 08:49:37 1994", 30),
            ("sun, 06 nov 1994 08:49:37 GMT", 30), ("Mon, 30 Nov 2026 00:00:30 GMT", 3600),
        ]
    )
    func `a wish is understood and bounded`(value: String, seconds: Int) {
        #expect(RetryAfter.duration(value, now: Self.now) == .seconds(seconds))
    }

    @Test(
        arguments: [
            "", "0", "-5", "2.5", "1e3", "0x10", "soon", "2 seconds", "Sun, 06 Nov 1994 08:49:07 GMT",
            "Sun, 06 Nov 1990 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Xyz 1994 08:49:37 GMT",
            "Sun, 96 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 28:49:37 GMT", "1994-11-06T08:49:37Z", "\u{0}", "٣",
        ]
    )
    func `what asks for no wait or makes no sense is ignored`(value: String) {
        #expect(RetryAfter.duration(value, now: Self.now) == nil)
    }
}

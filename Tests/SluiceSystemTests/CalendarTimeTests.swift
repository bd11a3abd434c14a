// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import Testing

struct CalendarTimeTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"), (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"), (1_796_000_000, "2026-11-30T00:53:20Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ])
    func `a moment and its text belong together`(seconds: Int, text: String) {
        #expect(CalendarTime.text(seconds: seconds) == text)
        #expect(CalendarTime.seconds(parsing: text) == seconds)
    }

    @Test(arguments: [
        ("2026-11-30", 1_795_996_800), ("2026-11-30T00:53", 1_796_000_000 - 20), ("2026-11-30 00:53:20", 1_796_000_000),
        ("2026-11-30T00:53:20.999Z", 1_796_000_000), ("2026-11-30T02:53:20+02:00", 1_796_000_000),
        ("2026-11-29T18:53:20-06:00", 1_796_000_000),
    ])
    func `other common forms are read`(text: String, seconds: Int) {
        #expect(CalendarTime.seconds(parsing: text) == seconds)
    }

    @Test(arguments: [
        "", "now", "2026-13-01", "2026-02-29", "2026-1-1", "2026-11-30T", "2026-11-30T24:00:00Z",
        "2026-11-30T00:00:00Zz",
        "2026-11-30x00:00", "２０２６-11-30",
    ])
    func `anything else is refused`(text: String) {
        #expect(CalendarTime.seconds(parsing: text) == nil)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import Testing

struct ProgressTextTests {
    @Test func `a bar has share, rate and remaining time`() {
        let line = ProgressText.line("drain", 7776, 31_104, "events", seconds: 2, width: 100)
        #expect(line == "drain [##########                              ] 7,776 of 31,104 events  3,888/s  0:06 left")
    }

    @Test(arguments: [(0, 0), (0, 10), (10, 10), (20, 10), (5, nil)] as [(Int, Int?)], [8, 20, 40, 80, 200])
    func `a bar never fills the last column`(counts: (Int, Int?), width: Int) {
        let line = ProgressText.line("replay", counts.0, counts.1, "events", seconds: 0, width: width)
        #expect(line.count < width)
    }

    @Test func `numbers read easily`() {
        #expect(
            [0, 999, 1000, 1_234_567, -1000].map(ProgressText.grouped) == ["0", "999", "1,000", "1,234,567", "-1,000"]
        )
        #expect([0, 12, 187, 7387.2].map(ProgressText.clock) == ["0:00", "0:12", "3:07", "2:03:08"])
        #expect([0, 1023, 1536, 5 << 30].map(ProgressText.bytes) == ["0 bytes", "1023 bytes", "1.5 KiB", "5.0 GiB"])
        #expect([0.04, 12.34, 187].map(ProgressText.elapsed) == ["0.0 s", "12.3 s", "3:07"])
    }
}

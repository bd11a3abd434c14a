// SPDX-License-Identifier: Apache-2.0
import SluiceTestSupport
import Testing

struct QuarantineListTests {
    private let sample: SampleSpool

    init() throws {
        sample = try SampleSpool()
        try sample.quarantine(["a1", "a2", "a3"], sequence: 0)
        try sample.quarantine(["b1"], sequence: 1, reason: "unsupported_event", event: "chat", at: 1_796_100_000)
    }

    /// Case C78.
    @Test func `list groups by reason, event and release`() throws {
        let result = try sample.relay("quarantine", "list")
        #expect(result.code == 0)
        #expect(
            result.output == """
                records  reason             event          release  replays  oldest                newest
                      3  upstream_rejected  screen_viewed  1 (1)          0  2026-11-30T00:55:00Z  2026-11-30T00:55:00Z
                      1  unsupported_event  chat           1 (1)          0  2026-12-01T04:40:00Z  2026-12-01T04:40:00Z
                4 records in all

                """
        )
    }

    @Test(arguments: [
        (["--reason", "unsupported_event"], 1), (["--event", "screen_viewed"], 3), (["--release", "1"], 4),
        (["--release", "2"], 0), (["--build", "1"], 4), (["--build", "7"], 0), (["--id", "a2"], 1),
        (["--anonymous-id", "a"], 4), (["--anonymous-id", "b"], 0), (["--user-id", "a"], 0),
        (["--since", "2026-12-01"], 1), (["--until", "2026-12-01"], 3),
        (["--reason", "unsupported_event", "--reason", "upstream_rejected"], 4),
        (["--reason", "unsupported_event", "--event", "screen_viewed"], 0),
    ])
    func `a choice narrows it`(words: [String], records: Int) throws {
        let result = try ProcessRunner().run("sluice-relay", ["quarantine", "list", "--spool", sample.path] + words)
        #expect(result.code == 0)
        #expect(
            result.output.contains(
                records == 0
                    ? "nothing is in quarantine by this choice" : "\(records) record\(records == 1 ? "" : "s") in all"
            )
        )
    }

    @Test func `JSON is a line for each group`() throws {
        let result = try sample.relay("quarantine", "list", "--json", "--reason", "unsupported_event")
        #expect(
            result.output == """
                {"reason":"unsupported_event","event":"chat","release":"1","build":"1","records":1,"replays":0,"oldest":1796100000,"newest":1796100000}

                """
        )
    }

    @Test func `show explains a record and lets nothing drive the terminal`() throws {
        let result = try sample.relay("quarantine", "show", "--id", "a2")
        #expect(result.code == 0)
        let record = SampleSpool.record("a2")
        #expect(
            result.output.hasPrefix(
                """
                event     screen_viewed a2
                release   1 (1)
                reason    upstream_rejected
                detail    HTTP 400: no [2J
                status    400
                why       the destination took its neighbours and refused it twice when it stood alone; detail is its answer
                attempts  2
                replays   0
                since     2026-11-30T00:55:00Z
                origin    \(sample.name(0)):100:1
                file      \(sample.path)/quarantine/
                """
            )
        )
        #expect(result.output.hasSuffix("record    \(record)\n"))
        #expect(
            result.output.contains(
                "\nnext      mend what the answer names, in the contract or at GraphJSON, then: sluice-relay quarantine "
                    + "replay --reason upstream_rejected --event screen_viewed --contract FILE --dry-run\n"
            )
        )
    }

    @Test func `show says when there is more, and when there is nothing`() throws {
        let limited = try sample.relay("quarantine", "show", "--limit", "2", "--json")
        #expect(limited.lines.count == 2)
        #expect(limited.errors.contains("there are more"))
        let none = try sample.relay("quarantine", "show", "--id", "zz")
        #expect(none.output == "")
        #expect(none.errors.contains("no such record"))
    }

    @Test func `find tells the reason`() throws {
        let result = try sample.relay("find", "b1")
        #expect(result.output.hasPrefix("quarantined "))
        #expect(result.output.contains(" reason unsupported_event: HTTP 400"))
    }
}

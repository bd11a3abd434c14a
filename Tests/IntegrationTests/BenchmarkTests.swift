// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// `sluice-bench` and `deploy/bench.sh` with so few events that their figures mean nothing.
struct BenchmarkTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }

    private let folder = TemporaryFolder()

    private func run(_ words: [String]) throws -> ProcessRunner.Result {
        try ProcessRunner().run(
            "/bin/sh",
            ["-c", "cd \"$1\" && shift && exec \"$@\"", "sh", folder.path] + words,
            seconds: 240
        )
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try FileSystem.contents(of: folder.path(name), limit: 1 << 20), as: UTF8.self)
    }

    private func check(_ recorded: String, _ measured: String) throws -> ProcessRunner.Result {
        try File(opening: folder.path("recorded"), O_WRONLY | O_CREAT | O_TRUNC).write(recorded)
        try File(opening: folder.path("measured"), O_WRONLY | O_CREAT | O_TRUNC).write(measured)
        return try run([ProcessRunner.path(of: "sluice-bench"), "check", "recorded", "measured"])
    }

    private func result(_ ratio: Double, events: Int = 5) -> String {
        #"{"benchmark":"relay","settings":{"events":\#(events)},"figures":{"ratio_to_floor":{"median":\#(ratio),"#
            + #""values":[\#(ratio)]}}}"# + "\n"
    }

    @Test func `everything is measured, recorded and reported, and a made-up drop is found`() throws {
        let words = [
            "\(Self.root)/deploy/bench.sh", "--quick", "--programs", ProcessRunner.path(of: "."), "--output",
            folder.path,
        ]
        try File(opening: folder.path("BENCHMARKS.md"), O_WRONLY | O_CREAT).write("old\n## Remarks\n\nKept.\n")
        let done = try run(words)
        try #require(done.code == 0, "\(done.errors)")
        let report = try text("BENCHMARKS.md")
        for name in ["micro", "endpoint", "relay", "path", "latency", "recovery"] {
            #expect(report.contains("### `\(name) --events 2000"))
        }
        #expect(report.contains("| ratio to floor | ≥ 0.35 |"))
        #expect(report.hasSuffix("\n## Remarks\n\nKept.\n") && !report.contains("old"))

        let recorded = try text("benchmarks.ndjson")
        // Far above any real one, and so is its mean with it.
        let better = recorded.replacing(/"ratio_to_floor":\{"median":[^,]*,"values":\[/) { "\($0.output)1000," }
        try #require(better != recorded)
        try File(opening: folder.path("benchmarks.ndjson"), O_WRONLY | O_TRUNC).write(better)
        let checked = try run(words + ["--check"])
        #expect(checked.code == 65, "\(checked.output)\(checked.errors)")
        #expect(checked.output.contains("DROPPED by more than a third"))
    }

    @Test(arguments: [(0.6, 0.41, true), (0.6, 0.39, false), (0.6, 0.9, true)])
    func `a ratio may drop by a third`(recorded: Double, measured: Double, holds: Bool) throws {
        let checked = try check(result(recorded), result(measured))
        #expect(checked.code == (holds ? 0 : 65))
        #expect(checked.output.contains("DROPPED") == !holds)
    }

    @Test func `what was not measured again does not pass, and other settings do not count for it`() throws {
        #expect(try check(result(0.6), "").code == 65)
        #expect(try check(result(0.6), result(0.6, events: 6)).code == 65)
        #expect(try check("", result(0.6)).code == 65)
        #expect(try check("no result\n", result(0.6)).code == 65)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// The README's way from the alarm about bad records to their delivery, with the real programs.
struct WalkThroughTests {
    private let folder = TemporaryFolder()
    private let runner = ProcessRunner(environment: ["GRAPHJSON_API_KEY": "secret-key"])

    private func contract(_ events: String) throws -> String {
        try folder.write(
            """
            { contract_version: "1", schema_versions: { min: 1, max: 1 }, on_unknown: "quarantine", events: { \(events) } }
            """,
            to: "contract.json5"
        )
    }

    private func envelope(_ id: Int, _ event: String, release: String) -> String {
        """
        {"event":"\(event)","event_id":"e\(id)","occurred_at":1796000000,"anonymous_id":"a","session_id":"s",\
        "app_version":"\(release)","build_number":"1","platform":"ios","schema_version":1,"properties":{}}

        """
    }

    private func relay(_ words: String...) throws -> ProcessRunner.Result {
        try runner.run("sluice-relay", words + ["--spool", folder.path("spool")])
    }

    @Test func `records of a new release are found, rehearsed, put back and delivered`() throws {
        let stub = try runner.start(
            "graphjson-stub",
            ["--listen", "127.0.0.1:0", "--key", "secret-key", "--store", folder.path("arrived")]
        )
        let url = "http://\(try #require(stub.line(startingWith: "listening on ")))"
        let old = try contract("screen_viewed: {}")
        let envelopes =
            (0..<100).map { envelope($0, "screen_viewed", release: "4.2.0") }.joined()
            + (100..<110).map { envelope($0, "chat_opened", release: "4.3.0") }.joined()
        let imported = try runner.run(
            "sluice-endpoint",
            ["import", "--contract", old, "--backfill", "--spool", folder.path("spool")],
            input: envelopes
        )
        #expect(imported.code == 0, "\(imported.errors)")
        let first = try relay("drain", "--graphjson-url", url)
        #expect(first.code == 0, "\(first.errors)")
        #expect(first.output.hasPrefix("delivered 100, quarantined 10 in "))

        let list = try relay("quarantine", "list")
        #expect(list.lines.dropFirst().first?.hasPrefix("     10  unsupported_event  chat_opened  4.3.0 ") == true)
        #expect(
            try relay("quarantine", "show", "--event", "chat_opened", "--limit", "1").output.contains(
                "reason    unsupported_event"
            )
        )

        let new = try contract("screen_viewed: {}, chat_opened: {}")
        let chosen = ["--event", "chat_opened", "--contract", new]
        let rehearsal = try runner.run(
            "sluice-relay",
            ["quarantine", "replay", "--dry-run", "--spool", folder.path("spool")] + chosen
        )
        #expect(rehearsal.output.hasPrefix("would put back 10 records, 0 would fail again"))
        let replay = try runner.run("sluice-relay", ["quarantine", "replay", "--spool", folder.path("spool")] + chosen)
        #expect(replay.code == 0)
        #expect(try relay("drain", "--graphjson-url", url).output.hasPrefix("delivered 10 in 1 request"))
        let status = try relay("status")
        #expect(status.code == 0)
        #expect(
            status.output.hasSuffix(
                "accepted 110 = delivered 110 + duplicate 0 + expired 0 + discarded 0 + erased 0 + quarantined 0 + pending 0 (balanced)\n"
            )
        )

        let arrived = String(
            decoding: try FileSystem.contents(of: folder.path("arrived"), limit: 1 << 20),
            as: UTF8.self
        )
        #expect(arrived.split(separator: "\n").count == 110)
        #expect((0..<110).allSatisfy { arrived.contains(#""event_id":"e\#($0)""#) })
        for text in [first, list, status, imported].map({ $0.output + $0.errors }) {
            #expect(!text.contains("secret-key"))
        }
    }
}

/// The README's own commands, word for word, run one after the other as somebody who pastes them.
struct ReadMeWalkThroughTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    private struct Step {
        var command: String
        /// What stands behind the arrow: part of what the command prints, white space aside.
        var told: String?
    }

    /// The commands of the block under a heading.
    private static func steps(under heading: String) throws -> [Step] {
        let bytes = try FileSystem.contents(of: "\(root)/README.md", limit: 1 << 20)
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        let section = lines.drop { $0 != "## \(heading)" }.dropFirst().prefix { !$0.hasPrefix("## ") }
        let block = section.drop { $0 != "```sh" }.dropFirst().prefix { $0 != "```" }
        var steps: [Step] = []
        var command = ""
        for line in block {
            command += line
            if command.hasSuffix("\\") {
                command = String(command.dropLast())
                continue
            }
            let parts = command.split(separator: "# →", maxSplits: 1)
            let told = parts.count > 1 ? collapsed(parts[1]) : nil
            steps.append(Step(command: String(parts.first ?? ""), told: told))
            command = ""
        }
        return steps
    }

    private static func collapsed(_ text: some StringProtocol) -> String {
        text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
    }

    @Test func `an operator who pastes the walk-through sees what it says`() throws {
        let folder = TemporaryFolder()
        let stub = try ProcessRunner().start(
            "graphjson-stub",
            ["--listen", "127.0.0.1:0", "--store", folder.path("arrived.ndjson")]
        )
        let address = try #require(stub.line(startingWith: "listening on "))
        #expect(symlink("\(Self.root)/deploy", folder.path("deploy")) == 0)
        try FileSystem.makeFolder(folder.path("spool"))
        let programs = ProcessRunner.path(of: "").dropLast()
        let path = ProcessEnvironment.current["PATH"] ?? "/usr/bin:/bin"
        let runner = ProcessRunner(environment: [
            "PATH": "\(programs):\(path)", "GRAPHJSON_API_KEY": "any", "SLUICE_GRAPHJSON_URL": "http://\(address)",
        ])
        let steps = try Self.steps(under: "A bad record, from alarm to delivery")
        #expect(steps.count == 10)
        #expect(steps.count { $0.told != nil } >= 8)
        for step in steps {
            let result = try runner.run("/bin/sh", ["-c", "cd '\(folder.path)' && \(step.command)"])
            #expect(result.code == 0, "\(step.command)\n\(result.output)\(result.errors)")
            guard let told = step.told else { continue }
            #expect(Self.collapsed(result.output).contains(told), "\(step.command)\n\(result.output)")
        }
        let arrived = String(
            decoding: try FileSystem.contents(of: folder.path("arrived.ndjson"), limit: 1 << 20),
            as: UTF8.self
        )
        #expect((0..<12).allSatisfy { arrived.contains($0 < 10 ? "release-00\($0)" : "release-0\($0)") })
        #expect(arrived.split(separator: "\n").count == 12)
    }
}

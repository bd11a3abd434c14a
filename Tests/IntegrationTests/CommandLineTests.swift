// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

struct CommandLineTests {
    private let runner = ProcessRunner()

    @Test(arguments: ["sluice-endpoint", "sluice-relay"])
    func `help is complete, on standard output, and a success`(program: String) throws {
        let overview = try runner.run(program, ["--help"])
        #expect(overview.code == 0)
        #expect(overview.errors == "")
        #expect(overview.output.hasPrefix("Usage: \(program) COMMAND"))
        let verbs = overview.lines.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }.map { line in
            line.split(separator: "  ").first.map { String($0).split(separator: " ").map { String($0) } } ?? []
        }
        #expect(!verbs.isEmpty)
        for verb in verbs where !verb.isEmpty {
            let help = try runner.run(program, verb + ["--help"])
            #expect(help.code == 0, "\(verb)")
            #expect(help.output.hasPrefix("Usage: \(program) \(verb.joined(separator: " "))"))
            #expect(help.output.contains("Exit codes:"), "\(verb)")
            #expect(help.lines.allSatisfy { $0.count <= 120 }, "\(verb)")
            #expect(!help.output.contains("Default: null"), "\(verb)")
            let name = ([program] + verb).joined(separator: " ")
            let examples = Self.examples(in: help.lines).filter { $0.contains(name) }
            #expect(!examples.isEmpty, "\(verb) has no example")
            // An example takes only options that the help explains.
            for word in examples.joined(separator: " ").split(separator: " ") where word.hasPrefix("--") {
                #expect(help.lines.contains { $0.hasPrefix("  \(word) ") || $0 == "  \(word)" }, "\(verb): \(word)")
            }
        }
    }

    private static func examples(in lines: [Substring]) -> [Substring] {
        lines.drop { $0 != "Examples:" }.dropFirst().prefix { $0.hasPrefix("  ") }
    }

    @Test(arguments: ["sluice-endpoint", "sluice-relay"])
    func `the page for man has a section for every command, and none of its own`(program: String) throws {
        let page = try runner.run(program, ["help", "--manual"])
        #expect(page.code == 0)
        let sections = page.lines.filter { $0.hasPrefix(".SS ") }
        let verbs = try runner.run(program, ["--help"]).lines.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
        #expect(sections.count == verbs.count)
        for (section, verb) in zip(sections, verbs) {
            let name = verb.split(separator: "  ").first.map { $0.drop { $0 == " " } } ?? ""
            #expect(section.replacing("\\-", with: "-").hasPrefix(".SS \"\(program) \(name) "))
        }
        #expect(page.output.contains("\n.B \\-\\-config FILE\n"))
        let settings = try runner.run(program, ["help", "--configuration", "--manual"])
        #expect(settings.output.hasPrefix(".TH SLUICE.JSON5 5 "))
        #expect(settings.output.contains("\n.B relay.max_in_flight, SLUICE_RELAY_MAX_IN_FLIGHT\n"))
    }

    @Test(arguments: [
        [], ["--spool"], ["delver"], ["find"], ["find", "a", "b"], ["find", "a", "--spol", "x"],
        ["inspect", "no-segment"],
        ["verify", "--spool"],
    ])
    func `a wrong command line is told on standard error with exit code 64`(words: [String]) throws {
        let result = try runner.run("sluice-relay", words)
        #expect(result.code == 64)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("sluice-relay: "))
    }

    @Test func `a mistyped verb or option is met with a suggestion`() throws {
        #expect(try runner.run("sluice-relay", ["verfy"]).errors.contains("did you mean verify?"))
        #expect(
            try runner.run("sluice-relay", ["help", "verfy"]).errors.contains(
                "verfy is no command; did you mean verify?"
            )
        )
        #expect(try runner.run("sluice-relay", ["verify", "--spol", "x"]).errors.contains("did you mean --spool?"))
    }

    @Test(.enabled(if: Tool.isInstalled("faketime"), "faketime is not installed"))
    func `words arrive also when a preloaded library has moved the environment`() throws {
        let library = try #require(
            try Tool.run("sh", "-c", "ls /usr/lib/*/faketime/libfaketimeMT.so.1").lines.first.map { String($0) }
        )
        let preloading = ProcessRunner(environment: ["LD_PRELOAD": library, "FAKETIME": "+0"])
        let folder = TemporaryFolder()
        let result = try preloading.run("sluice-relay", ["verify", "--spool", folder.path("none")])
        #expect(result.code == 78, "\(result.errors)")
        #expect(try preloading.run("graphjson-stub", ["--nonsense"]).code == 64)
    }

    @Test func `a configuration with faults lists them all with file, line and key, exit code 78`() throws {
        let folder = TemporaryFolder()
        let file = try folder.write("{\n relay: { max_in_flght: 3, linger_s: 'x' },\n}", to: "sluice.json5")
        let result = try runner.run("sluice-relay", ["verify", "--config", file])
        #expect(result.code == 78)
        #expect(
            result.errors == """
                sluice-relay: \(file):2: relay.max_in_flght is no setting; did you mean relay.max_in_flight?
                sluice-relay: \(file):2: relay.linger_s takes a number of seconds from 0 to 300

                """
        )
    }

    @Test func `a spool that is not there is told with its path, exit code 78, and is not made`() throws {
        let folder = TemporaryFolder()
        let result = try runner.run("sluice-relay", ["verify", "--spool", folder.path("none")])
        #expect(result.code == 78)
        #expect(
            result.errors.hasPrefix("sluice-relay: \(folder.path("none")): there is no spool here (no such folder)")
        )
        #expect((try? FileStatus(of: folder.path("none"))) == nil)
    }

    @Test func `a reader that has enough ends the output quietly`() throws {
        let sample = try SampleSpool()
        try sample.seal([(0..<5000).map { "e\($0)" }])
        let command =
            "'\(ProcessRunner.path(of: "sluice-relay"))' inspect '\(sample.name(0))' --records --spool '\(sample.path)' | head -n 1"
        let result = try runner.run("/bin/sh", ["-c", command])
        #expect(result.lines.count == 1)
        #expect(result.errors == "")
    }

    @Test func `closed standard streams do not become files of the spool`() throws {
        let sample = try SampleSpool()
        try sample.seal([["e1"]])
        let command = "exec '\(ProcessRunner.path(of: "sluice-relay"))' verify --spool '\(sample.path)' >&- 2>&- <&-"
        #expect(try runner.run("/bin/sh", ["-c", command]).code == 0)
        #expect(try sample.relay("verify").code == 0)
    }
}

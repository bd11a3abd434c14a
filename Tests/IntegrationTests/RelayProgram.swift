// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// `sluice-relay` on a spool, against an upstream of the test's own.
enum RelayProgram {
    static let settings = ["GRAPHJSON_API_KEY": "test-key", "SLUICE_RELAY_ADMIN_LISTEN": "off"]

    static func drain(
        _ spool: String,
        to url: String,
        _ words: [String] = [],
        settings: [String: String] = [:],
        prefix: [String] = []
    ) throws -> ProcessRunner.Result {
        try start(["drain"] + words, spool, to: url, settings: settings, prefix: prefix).result(seconds: 120)
    }

    /// Starts a sidecar.
    static func run(
        _ spool: String,
        to url: String,
        settings: [String: String] = [:],
        prefix: [String] = []
    ) throws -> RunningProcess {
        let relay = try start(["run"], spool, to: url, settings: settings, prefix: prefix)
        relay.wait(seconds: 30) { relay.errors.contains("Relay started") || !relay.isRunning }
        return relay
    }

    /// Starts any command, under another program if there is a prefix.
    static func start(
        _ words: [String],
        _ spool: String,
        to url: String? = nil,
        settings: [String: String] = [:],
        prefix: [String] = []
    ) throws -> RunningProcess {
        let all = words + ["--spool", spool] + (url.map { ["--graphjson-url", $0] } ?? [])
        let runner = ProcessRunner(environment: Self.settings.merging(settings) { $1 })
        guard let first = prefix.first else { return try runner.start("sluice-relay", all) }
        let tool = try #require(Tool.path(of: first), "\(first) is not installed")
        return try runner.start(tool, prefix.dropFirst() + [ProcessRunner.path(of: "sluice-relay")] + all)
    }

    /// Runs a command that needs no destination.
    static func command(_ words: String..., spool: String) throws -> ProcessRunner.Result {
        try ProcessRunner(environment: settings).run("sluice-relay", words + ["--spool", spool])
    }

    /// The process that a tracer or another wrapper runs.
    static func inner(_ process: RunningProcess) throws -> Int32 {
        let path = "/proc/\(process.id)/task/\(process.id)/children"
        let children = String(decoding: try FileSystem.contents(ofProc: path), as: UTF8.self)
        return try #require(children.split(separator: " ").first.flatMap { Int32($0) })
    }
}

/// Whether tests may become somebody else and mount things.
let isRoot = geteuid() == 0

/// Checks that every record of a spool is accounted for.
func expectBalanced(_ spool: String, at place: SourceLocation = #_sourceLocation) throws {
    let result = try RelayProgram.command("status", "--json", spool: spool)
    #expect(result.code == 0, "\(result.output) \(result.errors)", sourceLocation: place)
}

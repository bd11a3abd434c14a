// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Markers for the key, for people and for content, sought in everything the programs say and leave behind.
///
/// Case C74.
@Suite(.timeLimit(.minutes(2)))
struct QuietTests {
    private let folder = TemporaryFolder()
    private static let key = "MARKER-KEY-0123456789"
    private static let settings = [
        "GRAPHJSON_API_KEY": key, "SLUICE_LOG_LEVEL": "trace", "SLUICE_RELAY_BACKOFF_MIN_S": "0.05",
        "SLUICE_RELAY_BACKOFF_MAX_S": "0.05",
    ]

    private func event(_ id: String) -> String {
        EndpointProcess.event(id).replacing("home", with: "MARKER-VALUE").replacing("anon-1", with: "MARKER-ANON")
            .replacing(#""platform""#, with: #""user_id":"MARKER-USER","platform""#)
    }

    /// A destination that repeats in each of its refusals what it was sent.
    private func upstream() -> Upstream {
        Upstream { request, number in
            let echo = "{\"error\":\"\(Self.key) MARKER-USER MARKER-VALUE \(request.ids.joined(separator: " "))\"}"
            return switch number {
            case 0: .status(500, headers: ["X-Echo: \(Self.key)"], body: echo)
            case 1: .reset
            case 2: .status(429, headers: ["Retry-After: 0"], body: echo)
            case 3: .answer(Array("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n\(echo)".utf8), closes: true)
            case 4: .status(401, body: echo)
            case 5: .status(302, headers: ["Location: http://127.0.0.1:9/?key=\(Self.key)"], body: echo)
            default: request.ids.contains("MARKER-BAD") ? .status(400, body: echo) : nil
            }
        }
    }

    @Test func `no key anywhere, and no person or content in anything that is said`() throws {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: ["SLUICE_LOG_LEVEL": "trace", "SLUICE_AUTH_UNPROVEN_USER_ID": "claimed"]
        )
        let ids = (0..<60).map { "MARKER-ID-\($0)" } + ["MARKER-BAD"]
        let body = "{\"events\":[\(ids.map(event).joined(separator: ","))]}"
        #expect(try endpoint.client().post(body)?.status == 200)
        endpoint.process.terminate()
        var said: [(what: String, text: String)] = []
        let ended = endpoint.process.result(seconds: 20)
        said.append(("endpoint", ended.output + ended.errors))

        let upstream = upstream()
        let server = upstream.server()
        defer { server.stop() }
        let relay = try RelayProgram.run(
            endpoint.spool,
            to: server.url,
            settings: Self.settings.merging(["SLUICE_RELAY_PROBE_MAX_S": "0.05"]) { $1 }
        )
        let line = String(decoding: try FileSystem.contents(ofProc: "/proc/\(relay.id)/cmdline"), as: UTF8.self)
        #expect(relay.wait(seconds: 30) { upstream.taken.count == 60 }, "\(relay.errors)")
        let quarantine = "\(endpoint.spool)/quarantine"
        #expect(
            relay.wait(seconds: 20) {
                ((try? FileSystem.names(in: quarantine)) ?? []).contains { $0.hasSuffix(".lz4") }
            }
        )
        relay.terminate()
        let stopped = relay.result(seconds: 20)
        #expect(stopped.code == 0)
        said.append(("run", stopped.output + stopped.errors + line))
        let segment = try #require(try FileSystem.names(in: quarantine).first { $0.hasSuffix(".lz4") })
        let runner = ProcessRunner(environment: Self.settings)
        let spool = ["--spool", endpoint.spool]
        for words in [
            ["status"], ["status", "--json"], ["verify"],
            ["inspect", "\(quarantine)/\(segment)"],
            ["quarantine", "list"], ["quarantine", "list", "--json"], ["quarantine", "replay", "--dry-run"],
            ["quarantine", "replay", "--contract", contract], ["drain", "--graphjson-url", server.url],
            ["check", "--graphjson-url", server.url],
        ] {
            let result = try runner.run("sluice-relay", words + spool)
            #expect(result.code != 64, "\(words): \(result.errors)")
            said.append((words.joined(separator: " "), result.output + result.errors))
        }
        for (what, text) in said {
            for marker in ["MARKER-KEY", "MARKER-USER", "MARKER-VALUE", "MARKER-ANON", "MARKER-ID"] {
                #expect(!text.contains(marker), "\(what) says \(marker): \(text)")
            }
        }
        // What shows a record, or what the destination said of it, shows it whole; never the key.
        let found = try runner.run("sluice-relay", ["find", "MARKER-BAD"] + spool)
        #expect(found.output.contains("upstream_rejected") && !found.output.contains("MARKER-KEY"))
        let shown = try runner.run("sluice-relay", ["quarantine", "show"] + spool)
        #expect(shown.output.contains("MARKER-VALUE") && shown.output.contains("upstream_rejected"))
        #expect(!shown.output.contains("MARKER-KEY") && !shown.errors.contains("MARKER"))
        // The reason that stands in quarantine has the destination's words without the key; nor has any other file it.
        let read = try Tool.run("sh", "-c", "cat \(quarantine)/*.lz4 | lz4 -dc 2>/dev/null; cat \(endpoint.spool)/*")
        #expect(!read.output.contains("MARKER-KEY"))
        let files = try Tool.run("grep", "-rlF", "MARKER-KEY", endpoint.spool)
        #expect(files.output.isEmpty)
    }

    @Test func `a discard says how many and by whom, not what`() throws {
        let sample = try SampleSpool()
        try sample.quarantine(["MARKER-1", "MARKER-2"], sequence: 0)
        let runner = ProcessRunner(environment: Self.settings)
        let result = try runner.run("sluice-relay", ["quarantine", "discard", "--all", "--spool", sample.path])
        #expect(result.code == 0 && result.errors.contains(#""records":2"#))
        #expect(!(result.output + result.errors).contains("MARKER"))
    }
}

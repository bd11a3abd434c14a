// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// A destination that cannot be reached or cannot be trusted: nothing is lost, the log says why, and it passes.
///
/// Case C65.
@Suite(.timeLimit(.minutes(2)))
struct ConnectFaultTests {
    private let sample: SampleSpool

    init() throws {
        sample = try SampleSpool()
        try sample.seal([["e1", "e2"]])
    }

    /// Words that run a program with files of the system replaced by others.
    private func replacing(_ files: [String: String]) -> [String] {
        let mounts = files.map { "mount --bind '\($1)' '\($0)'" }.joined(separator: " && ")
        return ["unshare", "-m", "/bin/sh", "-c", "\(mounts) && exec \"$0\" \"$@\""]
    }

    private static let canUnshare =
        isRoot && Tool.isInstalled("unshare") && (try? Tool.run("unshare", "-m", "true"))?.code == 0

    private func expectNothingLost(_ result: ProcessRunner.Result, at place: SourceLocation = #_sourceLocation) throws {
        try expectBalanced(sample.path, at: place)
        let status = try RelayProgram.command("status", "--json", spool: sample.path).output
        #expect(status.contains(#""pending":2"#) && status.contains(#""quarantined":0"#), sourceLocation: place)
        #expect(!result.errors.contains("test-key"), sourceLocation: place)
    }

    private static let roots = "/etc/ssl/certs/ca-certificates.crt"
    private static let canForge =
        canUnshare && Tool.isInstalled("openssl") && Tool.isInstalled("faketime") && (try? FileStatus(of: roots)) != nil

    @Test(.enabled(if: canForge, "needs root, unshare, openssl, faketime, and Debian's list of roots"))
    func `certificates that are expired, of nobody known or of another name are told apart and never trusted`() throws {
        let folder = sample.folder
        let openssl = try #require(Tool.path(of: "openssl"))
        func certificate(_ name: String, for host: String, daysAgo: Int) throws -> (key: String, certificate: String) {
            let words =
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(host)", "-keyout", folder.path("\(name).key"),
                    "-out", folder.path("\(name).pem"),
                ]
            let made = try ProcessRunner().run(
                try #require(Tool.path(of: "faketime")),
                ["-f", "-\(daysAgo)d", openssl] + words
            )
            try #require(made.code == 0, "\(made.errors)")
            return (folder.path("\(name).key"), folder.path("\(name).pem"))
        }
        let expired = try certificate("expired", for: "DNS:localhost", daysAgo: 10)
        let other = try certificate("other", for: "DNS:example.com", daysAgo: 0)
        let unknown = try certificate("unknown", for: "DNS:localhost", daysAgo: 0)
        // The roots that this machine trusts: the first two, and not the third.
        let bundle = try folder.write(
            try [expired.certificate, other.certificate].map {
                String(decoding: try FileSystem.contents(of: $0, limit: 1 << 20), as: UTF8.self)
            }.joined(),
            to: "roots.pem"
        )
        var reasons: Set<String> = []
        for (files, trusted) in [(expired, bundle), (other, bundle), (unknown, bundle), (unknown, "/dev/null")] {
            let server = try ProcessRunner().start(
                openssl,
                ["s_server", "-www", "-accept", "127.0.0.1:0", "-key", files.key, "-cert", files.certificate]
            )
            let port = try #require(server.line(startingWith: "ACCEPT 127.0.0.1:"))
            let drained = try RelayProgram.drain(
                sample.path,
                to: "https://localhost:\(port)",
                prefix: replacing([Self.roots: trusted])
            )
            #expect(drained.code == 69, "\(drained.output) \(drained.errors)")
            #expect(drained.output.contains("halted: "))
            try expectNothingLost(drained)
            reasons.insert(String(drained.output.split(separator: "halted: ").last ?? ""))
            server.kill()
        }
        #expect(reasons.count >= 3, "\(reasons)")
        #expect(reasons.contains { $0.contains("expired") }, "\(reasons)")
    }

    @Test func `a handshake that is cut off is tried again`() throws {
        let server = ScriptedServer { _ in .resetInRequest(after: 20) }
        defer { server.stop() }
        let drained = try RelayProgram.drain(
            sample.path,
            to: "https://127.0.0.1:\(server.port)",
            ["--deadline", "1"],
            settings: ["SLUICE_RELAY_BACKOFF_MIN_S": "0.1", "SLUICE_RELAY_BACKOFF_MAX_S": "0.1"]
        )
        #expect(drained.code == 75, "\(drained.output) \(drained.errors)")
        #expect(server.connectionCount > 1)
        try expectNothingLost(drained)
    }

    @Test func `a connection that never comes about is given up in time`() throws {
        // A full backlog: the kernel answers no further connection.
        let hole = LoopbackSocket.bound(backlog: 0)
        let fillers = (0..<4).compactMap { _ in LoopbackSocket.connected(to: hole.port, waits: false) }
        let drained = try RelayProgram.drain(
            sample.path,
            to: "http://127.0.0.1:\(hole.port)",
            ["--deadline", "1"],
            settings: [
                "SLUICE_RELAY_CONNECT_TIMEOUT_S": "0.3", "SLUICE_RELAY_BACKOFF_MIN_S": "0.1",
                "SLUICE_RELAY_BACKOFF_MAX_S": "0.1",
            ]
        )
        #expect(drained.code == 75, "\(drained.output) \(drained.errors)")
        #expect(drained.errors.contains("Destination closed"))
        try expectNothingLost(drained)
        withExtendedLifetime(fillers) {}
    }

    @Test(.enabled(if: canUnshare, "needs root and unshare, to replace the system's hosts"))
    func `a name that cannot be looked up is asked for again, and delivery goes on when it can`() throws {
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let hosts = try sample.folder.write("127.0.0.1 localhost\n", to: "hosts")
        let resolver = try sample.folder.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", to: "resolv")
        let relay = try RelayProgram.run(
            sample.path,
            to: "http://graphjson.test:\(server.port)",
            settings: ["SLUICE_RELAY_BACKOFF_MIN_S": "0.3", "SLUICE_RELAY_BACKOFF_MAX_S": "0.3"],
            prefix: replacing(["/etc/hosts": hosts, "/etc/resolv.conf": resolver])
        )
        try #require(relay.wait(seconds: 20) { relay.errors.contains("Destination closed") }, "\(relay.errors)")
        #expect(relay.errors.contains("resolve") || relay.errors.contains("name"), "\(relay.errors)")
        let file = try File(opening: hosts, O_WRONLY | O_APPEND)
        try file.write("127.0.0.1 graphjson.test\n")
        #expect(relay.wait(seconds: 20) { upstream.taken.count == 2 }, "\(relay.errors)")
        relay.terminate()
        #expect(relay.result(seconds: 20).code == 0)
        #expect(upstream.taken.sorted() == ["e1", "e2"])
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// Endpoint and relay as two users of one group, and as users who have nothing to do with each other.
///
/// Case C48.
@Suite(.enabled(if: SecondUser.isPossible, "needs root and programs that others may run"), .timeLimit(.minutes(2)))
struct SecondUserTests {
    private static let group = SecondUser.group
    private let folder = TemporaryFolder()
    private let contract: String

    init() throws {
        chmod(folder.path, 0o755)
        contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        chmod(contract, 0o644)
    }

    private func prefix(_ user: String, group: String = Self.group, umask: String = "022") -> [String] {
        SecondUser.prefix(user, group: group, umask: umask)
    }

    private func makeSpool(_ mode: mode_t, owner: uid_t, group: gid_t) throws -> String {
        let path = folder.path("spool")
        try FileSystem.makeFolder(path, mode: mode)
        #expect(chown(path, owner, group) == 0)
        chmod(path, mode)
        return path
    }

    @Test(arguments: ["000", "022", "077"])
    func `two users of one group share a spool that nobody else can read, whatever the umask`(umask: String) throws {
        let spool = try makeSpool(0o2770, owner: 64002, group: 64001)
        let endpoint = try EndpointProcess(
            spool: spool,
            contract: contract,
            prefix: prefix("64002", umask: umask)
        )
        #expect(try endpoint.client().post(EndpointProcess.batch(["a", "poison", "b"]))?.status == 200)
        let upstream = Upstream { request, _ in request.ids.contains("poison") ? .status(400, body: "no") : nil }
        let server = upstream.server()
        defer { server.stop() }
        let relay = prefix("64003", umask: umask)
        endpoint.process.wait(seconds: 20) { ((try? FileSystem.names(in: "\(spool)/ready").count) ?? 0) > 0 }
        let drained = try RelayProgram.drain(spool, to: server.url, prefix: relay)
        #expect(drained.code == 0, "\(drained.output) \(drained.errors)")
        #expect(upstream.taken.sorted() == ["a", "b"])
        // The first user's command, on files that the second has made.
        let replay = try RelayProgram.start(
            ["quarantine", "replay"],
            spool,
            prefix: prefix("64002", umask: umask)
        ).result(seconds: 20)
        #expect(replay.code == 0, "\(replay.errors)")
        #expect(try endpoint.client().post(EndpointProcess.batch(["c"]))?.status == 200)
        kill(endpoint.process.id, SIGTERM)
        #expect(endpoint.process.result(seconds: 20).code == 0)
        #expect(try RelayProgram.drain(spool, to: server.url, prefix: relay).code == 0)
        #expect(upstream.taken.sorted() == ["a", "b", "c"])
        let open = try Tool.run("find", spool, "-perm", "/007")
        #expect(open.output.isEmpty, "others may: \(open.output)")
        let foreign = try Tool.run("find", spool, "!", "-gid", Self.group)
        #expect(foreign.output.isEmpty, "of another group: \(foreign.output)")
    }

    @Test func `a user outside the group is told path and mode at the start, and nothing is changed`() throws {
        let spool = try makeSpool(0o2770, owner: 64002, group: 64001)
        let endpoint = try EndpointProcess(spool: spool, contract: contract, prefix: prefix("64002"))
        #expect(try endpoint.client().post(EndpointProcess.batch(["a"]))?.status == 200)
        kill(endpoint.process.id, SIGTERM)
        #expect(endpoint.process.result(seconds: 20).code == 0)
        let before = try Tool.run("find", spool, "-printf", "%p %s %T@\n").output
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let drained = try RelayProgram.drain(spool, to: server.url, prefix: prefix("64004", group: "64005"))
        #expect(drained.code == 78, "\(drained.output) \(drained.errors)")
        #expect(drained.errors.contains(spool))
        #expect(upstream.requests.isEmpty)
        #expect(try Tool.run("find", spool, "-printf", "%p %s %T@\n").output == before)
    }

    @Test func `a folder that the relay may not write to is named with its mode and owner`() throws {
        let spool = try makeSpool(0o2770, owner: 64002, group: 64001)
        let endpoint = try EndpointProcess(spool: spool, contract: contract, prefix: prefix("64002"))
        #expect(try endpoint.client().post(EndpointProcess.batch(["a"]))?.status == 200)
        kill(endpoint.process.id, SIGTERM)
        #expect(endpoint.process.result(seconds: 20).code == 0)
        chmod("\(spool)/ready", 0o2750)
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let drained = try RelayProgram.drain(spool, to: server.url, prefix: prefix("64003"))
        #expect(drained.code == 78)
        #expect(drained.errors.contains("\(spool)/ready") && drained.errors.contains("2750"), "\(drained.errors)")
        #expect(upstream.requests.isEmpty)
        chmod("\(spool)/ready", 0o2770)
        #expect(try RelayProgram.drain(spool, to: server.url, prefix: prefix("64003")).code == 0)
        #expect(upstream.taken == ["a"])
    }
}

/// Running programs as somebody else.
enum SecondUser {
    static let group = "64001"

    /// Words that run a program as a user of a group, under a umask.
    static func prefix(_ user: String, group: String = Self.group, umask: String = "022") -> [String] {
        let shell = "umask \(umask); exec \"$0\" \"$@\""
        return ["setpriv", "--reuid", user, "--regid", user, "--groups", group, "/bin/sh", "-c", shell]
    }

    /// Whether it can be done here; the program's files may lie where other users cannot go.
    static let isPossible: Bool = {
        guard isRoot, let tool = Tool.path(of: "setpriv") else { return false }
        let words = Array(prefix("64002").dropFirst()) + [ProcessRunner.path(of: "sluice-relay"), "--help"]
        return (try? ProcessRunner().run(tool, words).code) == 0  // not started: not possible
    }()
}

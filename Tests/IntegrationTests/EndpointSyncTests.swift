// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// The order of system calls, and what happens when they fail, seen by `strace` on the real program.
///
/// Cases C01 and C42.
@Suite(.enabled(if: Tool.isInstalled("strace"), "needs strace"), .timeLimit(.minutes(3)), .serialized)
struct EndpointSyncTests {
    private let folder = TemporaryFolder()

    private func endpoint(_ rules: String..., settings: [String: String] = [:]) throws -> EndpointProcess {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let calls = "trace=write,writev,pwrite64,sendto,sendmsg,fdatasync,fsync,renameat2,openat"
        let options = ["-f", "-ttt", "-s", "40", "-y", "-o", folder.path("calls"), "-e", calls]
        return try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: settings,
            prefix: ["strace"] + options + rules.flatMap { ["-e", $0] }
        )
    }

    private func calls() throws -> [Substring] {
        let bytes = try FileSystem.contents(of: folder.path("calls"), limit: 64 << 20)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    /// The program itself, not the tracer, which would not pass signals on.
    private func stop(_ endpoint: EndpointProcess) throws {
        let children = try FileSystem.contents(
            ofProc: "/proc/\(endpoint.process.id)/task/\(endpoint.process.id)/children"
        )
        let id = String(decoding: children, as: UTF8.self).split(separator: " ").first.flatMap { Int32($0) }
        kill(try #require(id), SIGTERM)
        #expect(endpoint.process.result(seconds: 30).code == 0)
    }

    @Test func `no 200 leaves before its fdatasync returned, and folders are synced at opening and sealing`() throws {
        let endpoint = try endpoint(settings: ["SLUICE_SPOOL_SEGMENT_AGE_S": "0.05"])
        let client = try endpoint.client()
        for number in 0..<10 { #expect(client.post(EndpointProcess.batch(["e\(number)"]))?.status == 200) }
        try stop(endpoint)

        // One batch after the other: the answer to the tenth has ten syncs before it.
        var syncs = 0
        var incomingSynced = false
        var answers = 0
        var readySynced = false
        var renamed = 0
        for line in try calls() {
            // A call that another thread's call interrupts is told in two lines; its return counts.
            if line.contains("fdatasync") && line.hasSuffix("= 0") { syncs += 1 }
            if line.contains("fsync") && line.contains("/incoming>") { incomingSynced = true }
            if line.contains("fsync") && line.contains("/ready>") { readySynced = true }
            if line.contains("renameat2") && line.contains("/ready/") { renamed += 1 }
            if line.contains("HTTP/1.1 200") {
                #expect(syncs > answers && incomingSynced, "\(line)")
                answers += 1
            }
        }
        #expect(answers == 10)
        #expect(renamed >= 1 && readySynced)
    }

    @Test func `a failed fdatasync is 503, and the next events go into a new segment`() throws {
        let endpoint = try endpoint("inject=fdatasync:error=EIO:when=2")
        let client = try endpoint.client()
        #expect(client.post(EndpointProcess.batch(["first"]))?.status == 200)
        let refused = try #require(client.post(EndpointProcess.batch(["second"])))
        #expect(refused.status == 503)
        #expect(refused.member("code") == "write_failed")
        #expect(refused.header("Retry-After") != nil)
        #expect(client.post(EndpointProcess.batch(["third"]))?.status == 200)
        try stop(endpoint)
        let ids = try SpooledLines.all(in: endpoint.spool).compactMap(SpooledLines.id)
        #expect(ids.contains("first") && ids.contains("third"))
    }

    @Test func `a disk that hangs is 503 in time, and events are taken once it answers`() throws {
        let endpoint = try endpoint(
            "inject=fdatasync:delay_exit=3000000:when=2",
            settings: ["SLUICE_ENDPOINT_COMMIT_TIMEOUT_S": "0.5"]
        )
        let client = try endpoint.client()
        #expect(client.post(EndpointProcess.batch(["first"]))?.status == 200)
        let refused = try #require(client.post(EndpointProcess.batch(["second"])))
        #expect(refused.status == 503)
        #expect(refused.member("code") == "stalled")
        #expect(endpoint.process.wait(seconds: 20) { client.post(EndpointProcess.batch(["third"]))?.status == 200 })
        try stop(endpoint)
        let ids = try SpooledLines.all(in: endpoint.spool).compactMap(SpooledLines.id)
        #expect(ids.contains("first") && ids.contains("third"))
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// A spool that fills faster than it empties, and one that is read while it is written.
@Suite(.timeLimit(.minutes(2)))
struct BackpressureTests {
    private let folder = TemporaryFolder()
    private let contract: String

    init() throws { contract = try folder.write(EndpointProcess.contract, to: "contract.json5") }

    private func noise(_ id: String) -> String {
        var random = SystemRandomNumberGenerator()
        let text = (0..<150).map { _ in String(random.next(), radix: 36) }.joined()
        return "{\"events\":[\(EndpointProcess.event(id).replacing("home", with: text))]}"
    }

    /// Case C51: at its limit the spool refuses, and what it has taken stays; nothing old is dropped for new.
    @Test func `at the spool's limit new events are refused, what was taken is all delivered, and it opens again`()
        throws
    {
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: ["SLUICE_SPOOL_MAX_BYTES": "1000000", "SLUICE_SPOOL_SEGMENT_BYTES": "100000"]
        )
        let client = try endpoint.client()
        var acknowledged: [String] = []
        var refused = 0
        for number in 0..<5000 where refused < 50 {
            let answer = try #require(client.post(noise("e\(number)")))
            if answer.status == 200 {
                acknowledged.append("e\(number)")
            } else {
                #expect(answer.status == 503 && answer.header("Retry-After") != nil)
                refused += 1
            }
        }
        #expect(refused == 50 && acknowledged.count > 100)
        var bytes = 0
        for part in ["incoming", "ready"] { bytes += try FileSystem.allocatedBytes(in: "\(endpoint.spool)/\(part)") }
        #expect(bytes > 500_000 && bytes <= 1_100_000, "\(bytes) bytes")
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let relay = try RelayProgram.run(endpoint.spool, to: server.url)
        #expect(endpoint.process.wait(seconds: 20) { client.post(noise("again"))?.status == 200 })
        #expect(relay.wait(seconds: 20) { upstream.taken.contains("again") })
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
        relay.terminate()
        #expect(relay.result(seconds: 20).code == 0)
        #expect(try RelayProgram.drain(endpoint.spool, to: server.url).code == 0)
        #expect(Set(upstream.taken).isSuperset(of: acknowledged))
        let status = try RelayProgram.command("status", "--json", spool: endpoint.spool).output
        #expect(status.contains(#""expired":0"#) && status.contains(#""discarded":0"#))
        try expectBalanced(endpoint.spool)
    }

    /// Case C47.
    @Test(.enabled(if: Tool.isInstalled("strace"), "needs strace"))
    func `what is being written slowly is never taken for torn`() throws {
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: ["SLUICE_SPOOL_SEGMENT_AGE_S": "0.05"],
            prefix: [
                "strace", "-f", "-q", "-o", "/dev/null", "-e", "trace=write,pwrite64,renameat2,fsync", "-e",
                "inject=write,pwrite64,renameat2,fsync:delay_enter=15000",
            ]
        )
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        let port = endpoint.port
        let acknowledged = Acknowledged()
        let clients = (0..<3).map { number in
            SystemThread(name: "client") {
                guard let client = EndpointClient(port: port) else { return }
                for batch in 0..<25 {
                    let id = "c\(number)-\(batch)"
                    if client.post(EndpointProcess.batch([id]))?.status == 200 { acknowledged.add([id]) }
                }
            }
        }
        var drains = 0
        while acknowledged.count < 75 && drains < 200 {
            #expect([0, 75].contains(try RelayProgram.drain(endpoint.spool, to: server.url).code))
            drains += 1
        }
        for client in clients { client.join() }
        #expect(acknowledged.count == 75 && drains > 2)
        kill(try RelayProgram.inner(endpoint.process), SIGTERM)
        #expect(endpoint.process.result(seconds: 30).code == 0)
        #expect(try RelayProgram.drain(endpoint.spool, to: server.url).code == 0)
        #expect(upstream.taken.count == 75 && Set(upstream.taken) == acknowledged.ids)
        #expect(try FileSystem.names(in: "\(endpoint.spool)/quarantine").allSatisfy { !$0.hasSuffix(".lz4") })
        try expectBalanced(endpoint.spool)
    }
}

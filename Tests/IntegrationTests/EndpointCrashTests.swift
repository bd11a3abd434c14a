// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// `kill -9` under load: what was acknowledged is in the spool and reaches the destination.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct EndpointCrashTests {
    private let folder = TemporaryFolder()

    /// Posts batches on several connections until they break, and notes what was acknowledged.
    private func load(_ endpoint: EndpointProcess, round: Int, _ acknowledged: Acknowledged) -> [SystemThread] {
        let port = endpoint.port
        return (0..<6).map { number in
            SystemThread(name: "client") {
                guard let client = EndpointClient(port: port) else { return }
                for batch in 0..<100_000 {
                    let ids = (0..<20).map { "r\(round)-c\(number)-b\(batch)-\($0)" }
                    guard let answer = client.post(EndpointProcess.batch(ids)), answer.status == 200 else { return }
                    acknowledged.add(ids.filter { answer.body.contains("\"\($0)\"") })
                }
            }
        }
    }

    /// Case C41: before anything is sealed or ended.
    @Test func `a copy of the spool made right after the answer holds the batch`() throws {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: ["SLUICE_SPOOL_SEGMENT_AGE_S": "3600"]
        )
        #expect(try endpoint.client().post(EndpointProcess.batch(["a", "b"]))?.status == 200)
        #expect(try Tool.run("cp", "-a", folder.path("spool"), folder.path("copy")).code == 0)
        endpoint.process.kill()
        #expect(try FileSystem.names(in: folder.path("copy/ready")).isEmpty)
        let upstream = Upstream()
        let server = upstream.server()
        defer { server.stop() }
        #expect(try RelayProgram.drain(folder.path("copy"), to: server.url).code == 0)
        #expect(upstream.taken == ["a", "b"])
        try expectBalanced(folder.path("copy"))
    }

    /// Case C01.
    @Test func `every acknowledged event survives a kill at any moment`() async throws {
        let rounds = ProcessEnvironment.current["SLUICE_TEST_KILLS"].flatMap { Int($0) } ?? 8
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let acknowledged = Acknowledged()
        var random = SystemRandomNumberGenerator()
        for round in 0..<rounds {
            let endpoint = try EndpointProcess(spool: folder.path("spool"), contract: contract)
            let before = acknowledged.count
            let clients = load(endpoint, round: round, acknowledged)
            #expect(endpoint.process.wait(seconds: 30) { acknowledged.count > before })
            usleep(UInt32.random(in: 0...100_000, using: &random))  // the moment is the subject
            endpoint.process.kill()
            for client in clients { client.join() }
            // Read as it lies there, before anybody repairs anything.
            let spooled = Set(try SpooledLines.all(in: folder.path("spool")).compactMap(SpooledLines.id))
            #expect(acknowledged.ids.subtracting(spooled).isEmpty, "round \(round)")
        }
        let last = try EndpointProcess(spool: folder.path("spool"), contract: contract)
        last.process.terminate()
        #expect(last.process.result(seconds: 20).code == 0)

        let stub = try StubProcess()
        let relay = ProcessRunner(environment: ["GRAPHJSON_API_KEY": "test-key"])
        let words = ["--spool", folder.path("spool")]
        let drained = try relay.run("sluice-relay", ["drain", "--graphjson-url", stub.url] + words, seconds: 120)
        // A torn tail is told by the exit code for damage; everything whole was delivered.
        #expect([0, 65].contains(drained.code), "\(drained.errors)")
        let arrived = Set(try stub.events().map(\.id))
        #expect(acknowledged.ids.subtracting(arrived).isEmpty)
        #expect(acknowledged.count > rounds * 20)
        let status = try relay.run("sluice-relay", ["status"] + words)
        #expect(status.output.contains("(balanced)"), "\(status.output)")
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// An endpoint that is killed at every single call by which it changes the spool, one run for each.
///
/// Case C01.
@Suite(.timeLimit(.minutes(3)))
struct EndpointKillTests {
    private static let batches = 3

    /// Posts batches that fill a segment each until the endpoint is gone.
    ///
    /// - Returns: the ids that were acknowledged.
    private static func post(_ prefix: String, to port: UInt16) -> [String] {
        guard let client = EndpointClient(port: port) else { return [] }
        var acknowledged: [String] = []
        for batch in 0..<batches {
            let ids = (0..<3).map { "\(prefix)-\(batch)-\($0)" }
            guard let answer = client.post(EndpointProcess.largeBatch(ids)), answer.status == 200 else { break }
            acknowledged += ids
        }
        return acknowledged
    }

    private static func start(
        _ spool: String,
        _ contract: String,
        under injector: FaultInjector? = nil
    ) throws -> EndpointRun {
        let settings = ["SLUICE_SPOOL_SEGMENT_BYTES": "4096"]
        return try EndpointRun(spool: spool, contract: contract, settings: settings, under: injector)
    }

    @Test func `an endpoint killed at any call loses nothing that it acknowledged, and the next one goes on`() throws {
        let folder = TemporaryFolder()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let injector = try FaultInjector(root: folder.path("count"), record: [.changes])
        let undisturbed = try Self.start(folder.path("count"), contract, under: injector)
        let port = try #require(undisturbed.port)
        #expect(Self.post("count", to: port).count == 3 * Self.batches)
        undisturbed.process.terminate()
        #expect(undisturbed.process.result(seconds: 20).code == 0)
        let points = KillPoint.all(of: try injector.log())
        #expect(points.count > 50)

        let stub = try StubProcess()
        let url = stub.url
        let acknowledged = Lock<Set<String>>([])
        let wrong = problems(among: points) { point in
            var findings = Findings()
            let spool = folder.path(point.prefix)
            let injector = try FaultInjector(root: spool)
            try injector.set(point.rule())
            let killed = try Self.start(spool, contract, under: injector)
            var ids = killed.port.map { Self.post(point.prefix, to: $0) } ?? []
            killed.process.terminate()
            let ending = killed.process.result(seconds: 20)
            // What a listener writes by itself may come a call earlier or later than in the run that was counted.
            findings.check([0, 128 + SIGKILL].contains(ending.code), "ended with \(ending.code) \(ending.errors)")

            let next = try Self.start(spool, contract)
            let added = next.port.map { Self.post("\(point.prefix)-next", to: $0) } ?? []
            findings.equal(added.count, 3 * Self.batches, "acknowledged by the next")
            ids += added
            next.process.terminate()
            findings.equal(next.process.result(seconds: 20).code, 0, "end of the next")
            let books = try SpoolFolder.open(spool, create: false, role: .reader)
            try findings.balance(books, "after the kill")
            let drained = try SampleSpool.runner(["SLUICE_RELAY_DUPLICATE_WINDOW": "1000"])
                .run("sluice-relay", ["drain", "--spool", spool, "--graphjson-url", url])
            findings.equal(drained.code, 0, "drain \(drained.errors)")
            try findings.balance(books, "at the end")
            try findings.empty(books)
            acknowledged.withLock { $0.formUnion(ids) }
            return findings.texts
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        let arrived = try stub.events().map(\.id)
        #expect(acknowledged.withLock { $0 }.subtracting(arrived).isEmpty)
        #expect(Set(arrived).count == arrived.count)
    }

    @Test func `an endpoint killed while nothing is under way leaves a segment that a relay takes`() throws {
        let folder = TemporaryFolder()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: ["SLUICE_SPOOL_SEGMENT_AGE_S": "600"]
        )
        #expect(try endpoint.client().post(EndpointProcess.batch(["a", "b"]))?.status == 200)
        endpoint.process.kill()
        #expect(try FileSystem.names(in: folder.path("spool/incoming")).count == 1)
        let stub = try StubProcess()
        let drained = try SampleSpool.runner()
            .run("sluice-relay", ["drain", "--spool", folder.path("spool"), "--graphjson-url", stub.url])
        #expect(drained.code == 0)
        #expect(try stub.events().map(\.id) == ["a", "b"])
    }
}

extension EndpointProcess {
    /// A batch that fills a segment of 4096 bytes, since it hardly compresses.
    static func largeBatch(_ ids: [String]) -> String {
        var random = SystemRandomNumberGenerator()
        let events = ids.map { id in
            let noise = (0..<150).map { _ in String(random.next(), radix: 36) }.joined()
            return event(id).replacing("home", with: noise)
        }
        return "{\"events\":[\(events.joined(separator: ","))]}"
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// A spool on a filesystem of two megabytes that is really full.
///
/// Case C02.
@Suite(.enabled(if: TinyDisk() != nil, "no filesystem can be mounted here"), .timeLimit(.minutes(3)))
struct EndpointFullDiskTests {
    private let folder = TemporaryFolder()

    @Test(arguments: ["1", "262144"])
    func `only 503s while it is full, nothing acknowledged lost, and service again without a restart`(
        least: String
    ) throws {
        let disk = try #require(TinyDisk())
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: "\(disk.path)/spool",
            contract: contract,
            settings: ["SLUICE_SPOOL_MIN_FREE_BYTES": least, "SLUICE_SPOOL_SEGMENT_BYTES": "200000"]
        )
        let client = try endpoint.client()
        var acknowledged: [String] = []
        var refused = 0
        var random = SystemRandomNumberGenerator()
        for number in 0..<100_000 where refused < 300 {
            // Noise that does not compress, so that the disk fills.
            let noise = (0..<150).map { _ in String(random.next(), radix: 36) }.joined()
            let id = "e\(number)"
            let body = "{\"events\":[\(EndpointProcess.event(id).replacing("home", with: noise))]}"
            let answer = try #require(client.post(body))
            if answer.status == 200 {
                acknowledged.append(id)
            } else {
                #expect(answer.status == 503)
                #expect(answer.header("Retry-After") != nil)
                refused += 1
            }
        }
        #expect(refused == 300)
        #expect(acknowledged.count > 100)
        let kept = Set(try SpooledLines.all(in: endpoint.spool).compactMap(SpooledLines.id))
        #expect(kept.isSuperset(of: acknowledged))

        let ready = "\(endpoint.spool)/ready"
        for name in try FileSystem.names(in: ready) { try FileSystem.remove("\(ready)/\(name)") }
        #expect(endpoint.process.wait(seconds: 20) { client.post(EndpointProcess.batch(["again"]))?.status == 200 })
        endpoint.process.terminate()
        let result = endpoint.process.result(seconds: 20)
        #expect(result.code == 0)
        // Told once for each spell, not for each request.
        #expect(result.errors.split(separator: "\n").count { $0.contains("Spool takes no events") } <= 5)
        #expect(try SpooledLines.all(in: endpoint.spool).compactMap(SpooledLines.id).contains("again"))
    }
}

/// A filesystem in memory, gone with its last user.
final class TinyDisk {
    let path: String
    private let folder = TemporaryFolder()

    init?() {
        path = folder.path("disk")
        guard mkdir(path, 0o755) == 0, mount("none", path, "tmpfs", 0, "size=2m,mode=755") == 0 else { return nil }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// The order of calls by which files come into the spool, from the log of the real programs.
struct LockOrderTests {
    private let folder = TemporaryFolder()

    /// A run of everything that makes files which others may take for abandoned.
    private func log() throws -> FaultLog {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let spool = folder.path("spool")
        let injector = try FaultInjector(root: spool, record: [.changes])
        let endpoint = try EndpointRun(
            spool: spool,
            contract: contract,
            settings: ["SLUICE_SPOOL_SEGMENT_BYTES": "4096"],
            under: injector
        )
        let client = try #require(endpoint.port.flatMap { EndpointClient(port: $0) })
        for number in 0..<3 {
            let batch = EndpointProcess.largeBatch(["a\(number)", "b\(number)", "bad\(number)"])
            #expect(client.post(batch)?.status == 200)
        }
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
        let stub = try StubProcess("--poison", "bad0", "--poison", "bad2")
        let relay = SampleSpool.runner(["SLUICE_RELAY_DUPLICATE_WINDOW": "0"]).under(injector)
        #expect(try relay.run("sluice-relay", ["drain", "--spool", spool, "--graphjson-url", stub.url]).code == 0)
        #expect(try relay.run("sluice-relay", ["quarantine", "replay", "--limit", "1", "--spool", spool]).code == 0)
        return try injector.log()
    }

    /// Whether whoever finds the file tells by its lock that its owner lives.
    private func isGuarded(_ path: String) -> Bool {
        path.hasSuffix(".open") || path.hasSuffix("/lock") && path.hasPrefix("claimed/")
            || path.hasPrefix("quarantine/") && path.hasSuffix(".lz4")
    }

    private func isHidden(_ path: String) -> Bool { path.split(separator: "/").contains { $0.hasPrefix(".new-") } }

    @Test func `a lock is held before its file shows, and as long as it is written`() throws {
        // Locks and names by file; a folder's new name is that of the lock in it.
        var held: Set<UInt64> = []
        var shown: [UInt64: String] = [:]
        var locks: [String: UInt64] = [:]
        var kinds: Set<String> = []
        for entry in try log().entries where !entry.hasFailed {
            switch entry.operation {
            case .create:
                // The number of a file that is gone may come again.
                held.remove(entry.inode)
                shown[entry.inode] = nil
                guard isGuarded(entry.path) else { continue }
                #expect(isHidden(entry.path), "\(entry.path) shows before it is locked")
                locks[entry.path] = entry.inode
            case .lock: held.insert(entry.inode)
            case .unlock: held.remove(entry.inode)
            case .rename:
                guard let target = entry.target, isHidden(entry.path), !isHidden(target) else { continue }
                let file = isGuarded(target) ? entry.inode : locks["\(entry.path)/lock"]
                guard let file else { continue }
                #expect(held.contains(file), "\(target) shows before it is locked")
                shown[file] = target
                kinds.insert(String(target.split(separator: "/")[0]))
            case .write, .fsync, .fdatasync:
                guard let path = shown[entry.inode], !path.hasPrefix("claimed/") else { continue }
                #expect(held.contains(entry.inode), "\(path) is written without its lock")
            default: continue
            }
        }
        #expect(kinds == ["incoming", "claimed", "quarantine"])
    }

    @Test func `no name of a segment is used twice`() throws {
        var names: Set<String> = []
        for entry in try log().entries where !entry.hasFailed && entry.operation == .rename {
            guard let target = entry.target, isHidden(entry.path), !isHidden(target), target.contains("-") else {
                continue
            }
            #expect(names.insert(target).inserted, "\(target) came into place twice")
        }
        let segments = names.compactMap { name in
            name.hasPrefix("incoming/") ? SegmentName(openFileName: String(name.split(separator: "/")[1])) : nil
        }
        #expect(segments.count >= 3 && Set(segments.map(\.sequence)) == Set(0..<UInt64(segments.count)))
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// What is made durable before what, from the log of the real programs: faults that the model of the spool found, each
/// of which took a kill and then a loss of power.
struct SyncOrderTests {
    private static func drain(_ sample: SampleSpool, under injector: FaultInjector) throws {
        let stub = try StubProcess()
        let settings = ["SLUICE_RELAY_DUPLICATE_WINDOW": "100"]
        let result = try sample.drain(to: stub.url, settings: settings, under: injector)
        #expect(result.code == 0, "\(result.errors)")
    }

    /// Everything that `run` changed in a spool or made durable there.
    private func changes(in sample: SampleSpool, _ run: (FaultInjector) throws -> Void) throws -> [FaultLog.Entry] {
        let injector = try FaultInjector(root: sample.path, record: [.changes])
        try run(injector)
        return try injector.log().changes.filter { !$0.hasFailed }
    }

    @Test func `a start makes the names in the spool durable before it changes anything there`() throws {
        let sample = try SampleSpool()
        try sample.seal([["a"]])
        let changes = try changes(in: sample) { try Self.drain(sample, under: $0) }
        let sync = try #require(changes.firstIndex { $0.operation == .syncfolder && $0.path == "." })
        let names = changes[..<sync].map(\.path).filter { !$0.contains(".new-probe") }
        #expect(names.isEmpty, "changed before what a killed process left was durable: \(names)")
    }

    @Test func `a claim's folder has a durable name before a segment is moved into it`() throws {
        let sample = try SampleSpool()
        try sample.seal([["a"]])
        let changes = try changes(in: sample) { try Self.drain(sample, under: $0) }
        let renames = changes.indices.filter { changes[$0].operation == .rename && !changes[$0].path.contains("probe") }
        let claim = try #require(renames.first { changes[$0].path.hasPrefix("ready/") })
        let name = try #require(renames.first { changes[$0].path.hasPrefix("claimed/.new-") })
        #expect(name < claim)
        #expect(changes[name..<claim].contains { $0.operation == .syncfolder && $0.path == "claimed" })
    }

    @Test func `removals of finished segments are durable before the ledger forgets these`() throws {
        let sample = try QuarantineKillTests.largeLedger("x")
        let changes = try changes(in: sample) { try Self.drain(sample, under: $0) }
        let fold = try #require(changes.firstIndex { $0.operation == .rename && $0.target == "ledger" })
        let removed = changes.indices.filter {
            changes[$0].operation == .unlink && changes[$0].path.hasPrefix("claimed/")
                && changes[$0].path.hasSuffix(SegmentName.sealedSuffix) && $0 < fold
        }
        #expect(removed.count == 1)
        for index in removed {
            let folder = changes[index].path.split(separator: "/").dropLast().joined(separator: "/")
            #expect(changes[index..<fold].contains { $0.operation == .syncfolder && $0.path == folder })
        }
    }

    @Test func `a segment is removed only when its line in the ledger and its quarantine are durable`() throws {
        let sample = try SampleSpool.mixed("x")
        let stub = try StubProcess("--poison", "x-bad")
        let changes = try changes(in: sample) { injector in
            let result = try sample.drain(to: stub.url, settings: [:], under: injector)
            #expect(result.code == 0, "\(result.errors)")
        }
        let removals = changes.indices.filter { index in
            let entry = changes[index]
            return entry.operation == .unlink && entry.path.hasPrefix("claimed/")
                && entry.path.hasSuffix(SegmentName.sealedSuffix)
        }
        #expect(removals.count == 4)
        for removal in removals {
            let name = changes[removal].path.split(separator: "/").last?.dropLast(SegmentName.sealedSuffix.count) ?? ""
            let writes = changes[..<removal].indices.filter { changes[$0].operation == .write }
            let line = writes.filter { index in
                let text = String(decoding: changes[index].bytes, as: UTF8.self)
                return changes[index].path == "ledger" && text.contains(" finished ") && text.contains(name)
            }
            let bad = writes.filter { changes[$0].path.hasPrefix("quarantine/") }
            #expect(line.count == 1)
            for write in line + bad {
                let isDurable = changes[write..<removal].contains { entry in
                    [.fsync, .fdatasync].contains(entry.operation) && entry.inode == changes[write].inode
                }
                #expect(isDurable, "\(changes[write].path) was not durable when \(name) was removed")
            }
        }
        #expect(changes.contains { $0.operation == .write && $0.path.hasPrefix("quarantine/") })
    }

    @Test func `the list of erased persons is replaced as a whole, and only by what is durable`() throws {
        let sample = try SampleSpool()
        let changes = try changes(in: sample) { injector in
            for user in ["u1", "u2"] {
                let words = ["erase", "--user-id", user, "--yes", "--spool", sample.path]
                let result = try ProcessRunner().under(injector).run("sluice-relay", words)
                #expect(result.code == 0, "\(result.errors)")
            }
        }
        #expect(!changes.contains { $0.path == "erased" && $0.operation != .rename }, "written in place")
        var durable: Set<String> = []
        var replaced = 0
        for entry in changes {
            switch entry.operation {
            case .fsync, .fdatasync: durable.insert(entry.path)
            case .write: durable.remove(entry.path)
            case .rename where entry.target == "erased":
                #expect(durable.contains(entry.path))
                replaced += 1
            default: continue
            }
        }
        // Its header, and then for each of the two the person and the note that quarantine was looked through.
        #expect(replaced >= 3)
    }
}

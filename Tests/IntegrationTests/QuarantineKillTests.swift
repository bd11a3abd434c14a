// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Replays, discards and the ledger's folding, killed at every single call by which they change the spool.
///
/// Case C79.
@Suite(.timeLimit(.minutes(3)))
struct QuarantineKillTests {
    private static let ids = ["a1", "a2", "a3", "b1", "b2", "b3"]

    /// Two files in quarantine: a choice of four records takes all of the first and a part of the second.
    private static func spool(_ prefix: String) throws -> SampleSpool {
        let sample = try SampleSpool()
        try sample.quarantine(ids.prefix(3).map { "\(prefix)-\($0)" }, sequence: 0)
        try sample.quarantine(ids.suffix(3).map { "\(prefix)-\($0)" }, sequence: 1)
        return sample
    }

    private static func edit(_ verb: String, _ sample: SampleSpool, _ choice: [String], under injector: FaultInjector?)
        throws -> ProcessRunner.Result
    {
        try ProcessRunner().under(injector).run("sluice-relay", ["quarantine", verb, "--spool", sample.path] + choice)
    }

    private static func points(_ verb: String) throws -> [KillPoint] {
        let sample = try spool("count")
        let injector = try FaultInjector(root: sample.path, record: [.changes])
        #expect(try edit(verb, sample, ["--limit", "4"], under: injector).code == 0)
        return KillPoint.all(of: try injector.log(), where: KillPoint.isWork)
    }

    @Test func `a replay killed at any call loses no record and brings none back twice`() throws {
        let points = try Self.points("replay")
        #expect(points.count > 25)
        let stub = try StubProcess()
        let url = stub.url
        var wrong = problems(among: points) { point in
            var findings = Findings()
            let sample = try Self.spool(point.prefix)
            try point.kill(in: sample, &findings) { try Self.edit("replay", sample, ["--limit", "4"], under: $0) }
            var status = try SpoolStatus.read(sample.spool)
            findings.equal(
                status.quarantined + status.pending,
                Self.ids.count,
                "quarantined and pending after the kill"
            )

            let next = try Self.edit("replay", sample, ["--all"], under: nil)
            findings.equal(next.code, 0, "next replay \(next.errors)")
            try findings.balance(sample.spool, "after the next replay")
            let drained = try Self.drain(sample, to: url)
            findings.equal(drained.code, 0, "drain \(drained.errors)")
            try findings.balance(sample.spool, "at the end")
            try findings.empty(sample.spool)
            status = try SpoolStatus.read(sample.spool)
            findings.equal(status.counts.delivered, Self.ids.count, "delivered")
            findings.equal(status.quarantined, 0, "quarantined")
            return findings.texts
        }
        let arrived = try stub.idsByPrefix()
        for point in points {
            let ids = arrived[point.prefix] ?? []
            if ids != Self.ids { wrong.append("\(point): arrived \(ids)") }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }

    @Test func `a discard killed at any call takes out no record that is not counted, and can be done again`() throws {
        let points = try Self.points("discard")
        #expect(points.count > 15)
        let wrong = problems(among: points) { point in
            var findings = Findings()
            let sample = try Self.spool(point.prefix)
            try point.kill(in: sample, &findings) { try Self.edit("discard", sample, ["--limit", "4"], under: $0) }
            var status = try SpoolStatus.read(sample.spool)
            findings.equal(
                status.quarantined + status.counts.discarded,
                Self.ids.count,
                "quarantined and discarded after the kill"
            )
            let next = try Self.edit("discard", sample, ["--all"], under: nil)
            findings.equal(next.code, 0, "next discard \(next.errors)")
            try findings.balance(sample.spool, "at the end")
            try findings.empty(sample.spool)
            status = try SpoolStatus.read(sample.spool)
            findings.equal(status.counts.discarded, Self.ids.count, "discarded")
            findings.equal(status.quarantined, 0, "quarantined")
            let names = try FileSystem.names(in: sample.spool.quarantine).filter {
                $0.hasSuffix(".lz4") && $0.first != "."
            }
            findings.equal(names, [], "files in quarantine")
            return findings.texts
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }

    // MARK: Folding

    /// A spool with a ledger that is due: most of it is one long line that does not verify, as a bad disk leaves it.
    static func largeLedger(_ prefix: String) throws -> SampleSpool {
        let sample = try SampleSpool()
        try sample.quarantine(["\(prefix)-q"], sequence: 0)
        let junk = String(repeating: "x", count: 1 << 20) + "\n"
        let ledger = try File(opening: sample.spool.ledger, O_WRONLY | O_APPEND)
        for _ in 0..<17 { try ledger.write(junk) }
        try sample.seal([["\(prefix)-a", "\(prefix)-b"]], sequence: 1)
        return sample
    }

    private static func drain(_ sample: SampleSpool, to url: String, under injector: FaultInjector? = nil) throws
        -> ProcessRunner.Result
    {
        try sample.drain(to: url, settings: ["SLUICE_RELAY_DUPLICATE_WINDOW": "0"], under: injector)
    }

    @Test func `a relay killed at any call while it folds the ledger keeps the books`() throws {
        let stub = try StubProcess()
        let url = stub.url
        let counted = try Self.largeLedger("count")
        let injector = try FaultInjector(root: counted.path, record: [.changes])
        #expect(try Self.drain(counted, to: url, under: injector).code == 0)
        #expect(try FileStatus(of: counted.spool.ledger).size < 1 << 20)
        let points = KillPoint.all(
            of: try injector.log(),
            counting: {
                $0.path.contains("ledger") || $0.target?.contains("ledger") == true
            }
        )
        #expect(points.contains { $0.call.contains("rename") } && points.count >= 10)
        let wrong = problems(among: points, atOnce: 2) { point in
            var findings = Findings()
            let sample = try Self.largeLedger(point.prefix)
            try point.kill(in: sample, counting: "*ledger*", &findings) {
                try Self.drain(sample, to: url, under: $0)
            }
            for id in 0..<2 {
                try sample.seal([["\(point.prefix)-later-\(id)"]], sequence: 2 + id)
                findings.equal(try Self.drain(sample, to: url).code, 0, "next run")
                try findings.balance(sample.spool, "after the next run")
            }
            try findings.empty(sample.spool)
            let status = try SpoolStatus.read(sample.spool)
            findings.equal(status.accepted, 5, "accepted")
            findings.equal(status.counts.delivered, 4, "delivered")
            findings.equal(status.quarantined, 1, "quarantined")
            findings.check(try FileStatus(of: sample.spool.ledger).size < 1 << 20, "the ledger is not folded")
            return findings.texts
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// The list of erased persons on a disk that fails, under the real programs.
///
/// Whatever fails: the list names whom it named before or also the new ones, and verifies; the books balance; the same
/// command again finds and counts everything; and no relay sends a record that it cannot hold against the list.
@Suite(.timeLimit(.minutes(3)))
struct ErasureDiskFaultTests {
    private static let path = ".new-erased-*"

    static let erasures = FaultGroup<Int32>(
        "an erasure",
        [
            (DiskFault.each(["ENOSPC", "EIO", "EMFILE"], "create", path), 74),
            (DiskFault.each(["EROFS", "EACCES"], "create", path), 78),
            (DiskFault.each(DiskFault.writing, "write", path), 74),
            (DiskFault.each(DiskFault.writing, "write", path, when: "2"), 74),
            (DiskFault.each(DiskFault.syncing, "fsync", path), 74),
            (DiskFault.each(DiskFault.syncing, "fsync", path, when: "2"), 74),
            (DiskFault.each(["ENOSPC", "EIO"], "rename", ".new-erased-*>erased"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "rename", ".new-erased-*>erased"), 78),
            (DiskFault.each(["ENOSPC", "EIO"], "rename", ".new-erased-*>erased", when: "2"), 74),
            (DiskFault.each(["EIO", "EMFILE"], "open", "erased"), 74),
            (DiskFault.each(["EACCES"], "open", "erased"), 78),
            (DiskFault.each(["EIO"], "read", "erased"), 74),
            (DiskFault.each(["EIO", "ENOLCK"], "lock", "erased"), 74),
            // The note that all of quarantine was looked through.
            (DiskFault.each(["ENOSPC", "EIO"], "write", path, when: "3"), 74),
            (DiskFault.harmless(path) + [.interrupted("lock|read", "erased")], 0),
        ]
    )

    /// The names of a new list, the first of each start of a program aside.
    static let names = FaultGroup<Int32>(
        "the name of a list",
        [(["3", "4", "5"].flatMap { DiskFault.each(["EIO"], "fsync", ".", when: $0) }, 74)]
    )

    private static func record(_ id: String, user: String) -> String {
        SampleSpool.record(id).replacing(#""trusted":{}"#, with: #""trusted":{"user_id":"\#(user)"}"#)
    }

    /// Two records of one person and two of another wait.
    private static func spool(_ prefix: String) throws -> SampleSpool {
        let sample = try SampleSpool()
        try sample.seal(
            frames: [[record("\(prefix)-a1", user: "gone"), record("\(prefix)-b1", user: "stays")]],
            sequence: 0
        )
        try sample.seal(
            frames: [[record("\(prefix)-b2", user: "stays")], [record("\(prefix)-a2", user: "gone")]],
            sequence: 1
        )
        return sample
    }

    private static func erase(
        _ sample: SampleSpool,
        under injector: FaultInjector? = nil
    ) throws -> ProcessRunner.Result {
        try ProcessRunner().under(injector)
            .run("sluice-relay", ["erase", "--user-id", "gone", "--yes", "--spool", sample.path])
    }

    private static func drain(
        _ sample: SampleSpool,
        to url: String,
        under injector: FaultInjector? = nil
    ) throws -> ProcessRunner.Result {
        try sample.drain(to: url, settings: ["SLUICE_RELAY_DUPLICATE_WINDOW": "0"], under: injector)
    }

    /// What is told: file and cause.
    private static func checkTold(_ log: String, _ fault: DiskFault, _ path: String, _ findings: inout Findings) {
        guard let reason = fault.reason else { return }
        findings.check(log.contains(reason), "the cause is not told: \(log)")
        findings.check(log.contains(path), "the file is not told: \(log)")
    }

    @Test(arguments: [erasures, names])
    func `an erasure on a failing disk leaves a list that verifies, and is completed by the next`(
        group: FaultGroup<Int32>
    ) throws {
        let stub = try StubProcess()
        let url = stub.url
        let cases = Array(group.cases.enumerated())
        let wrong = problems(among: cases, atOnce: 6) { number, entry in
            var findings = Findings()
            let sample = try Self.spool("e\(number)")
            let injector = try FaultInjector(root: sample.path)
            try injector.set(entry.fault.rule)
            let first = try Self.erase(sample, under: injector)
            findings.equal(first.code, entry.outcome, "exit code with \(first.errors)")
            findings.check(try !injector.log().faults.isEmpty, "the fault was not met")
            Self.checkTold(first.errors, entry.fault, sample.path, &findings)
            try findings.balance(sample.spool, "after it")
            let list = ErasureList(in: sample.spool)
            try list.refresh()
            findings.check(list.book.entries.count <= 1, "the list names \(list.book.entries.count) persons")

            let second = try Self.erase(sample)
            findings.equal(second.code, 0, "the next \(second.errors)")
            let drained = try Self.drain(sample, to: url)
            findings.equal(drained.code, 0, "drain \(drained.errors)")
            try findings.balance(sample.spool, "at the end")
            try findings.empty(sample.spool)
            let counts = try SpoolStatus.read(sample.spool).counts
            findings.equal(counts.erased, 2, "erased")
            findings.equal(counts.delivered, 2, "delivered")
            return findings.texts.map { "\(entry.fault): \($0)" }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        let arrived = try stub.idsByPrefix()
        #expect(arrived == Dictionary(uniqueKeysWithValues: cases.map { ("e\($0.offset)", ["b1", "b2"]) }))
    }

    static let readings = FaultGroup<Int32>(
        "reading the list",
        [
            (DiskFault.each(["EIO", "EMFILE"], "open", "erased"), 74),
            (DiskFault.each(["EACCES"], "open", "erased"), 78),
            (DiskFault.each(["EIO"], "read", "erased"), 74),
            ([.interrupted("read", "erased"), .late("read", "erased")], 0),
        ]
    )

    @Test(arguments: ["drain", "run"])
    func `a relay that cannot read the list sends nothing, and the next one sends what may be sent`(
        verb: String
    ) throws {
        let stub = try StubProcess()
        let url = stub.url
        let cases = Self.readings.cases.filter { verb == "drain" || $0.outcome != 0 }.enumerated().map { $0 }
        let wrong = problems(among: cases, atOnce: 6) { number, entry in
            var findings = Findings()
            let sample = try Self.spool("r\(number)")
            findings.equal(try Self.erase(sample).code, 0, "the erasure")
            let injector = try FaultInjector(root: sample.path)
            try injector.set(entry.fault.rule)
            let first = try SampleSpool.runner(["SLUICE_RELAY_ADMIN_LISTEN": "off"]).under(injector)
                .run("sluice-relay", [verb, "--spool", sample.path, "--graphjson-url", url])
            findings.equal(first.code, entry.outcome, "exit code with \(first.errors)")
            findings.check(try !injector.log().faults.isEmpty, "the fault was not met")
            Self.checkTold(first.errors, entry.fault, sample.path, &findings)
            try findings.balance(sample.spool, "after it")
            let delivered = try SpoolStatus.read(sample.spool).counts.delivered
            findings.equal(delivered, entry.outcome == 0 ? 2 : 0, "delivered under the fault")
            let second = try Self.drain(sample, to: url)
            findings.equal(second.code, 0, "the next \(second.errors)")
            try findings.empty(sample.spool)
            return findings.texts.map { "\(entry.fault): \($0)" }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        let arrived = try stub.idsByPrefix()
        #expect(arrived == Dictionary(uniqueKeysWithValues: cases.map { ("r\($0.offset)", ["b1", "b2"]) }))
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Starts of a relay, replays, discards and the ledger's folding on a disk that fails, under the real programs.
@Suite(.timeLimit(.minutes(3)))
struct CommandDiskFaultTests {
    private static func run(
        _ words: [String],
        under injector: FaultInjector? = nil
    ) throws -> ProcessRunner.Result {
        let runner = SampleSpool.runner(["SLUICE_RELAY_DUPLICATE_WINDOW": "0", "SLUICE_RELAY_ADMIN_LISTEN": "off"])
        return try runner.under(injector).run("sluice-relay", words)
    }

    /// What is told: file and cause.
    private static func checkTold(_ log: String, _ fault: DiskFault, _ path: String, _ findings: inout Findings) {
        guard let reason = fault.reason else { return }
        findings.check(log.contains(reason), "the cause is not told: \(log)")
        findings.check(log.contains(path), "the file is not told: \(log)")
    }

    // MARK: Start

    static let starts = FaultGroup<Int32>(
        "the start of a relay",
        [
            (DiskFault.each(["EROFS", "EACCES"], "mkdir", "claimed/.new-*"), 78),
            (DiskFault.each(["ENOSPC", "EIO"], "mkdir", "claimed/.new-*"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "create", "claimed/.new-*/lock"), 78),
            (DiskFault.each(["ENOSPC", "EIO", "EMFILE"], "create", "claimed/.new-*/lock"), 74),
            (DiskFault.each(["EIO", "ENOLCK"], "lock", "claimed/.new-*/lock"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "rename", "claimed/.new-[0-9]*>claimed/*"), 78),
            (DiskFault.each(["ENOSPC", "EIO"], "rename", "claimed/.new-[0-9]*>claimed/*"), 74),
            (DiskFault.each(["EIO", "EMFILE"], "open", "ledger"), 74),
            (DiskFault.each(["EACCES"], "open", "ledger"), 78),
            (DiskFault.each(["EIO", "EMFILE"], "open", "FORMAT"), 74),
            (DiskFault.each(["EACCES"], "open", "FORMAT"), 78),
            (DiskFault.each(["EIO"], "read", "FORMAT"), 74),
            (DiskFault.each(["EIO"], "read", "ledger"), 74),
        ]
    )

    @Test(arguments: ["drain", "run"])
    func `a relay that cannot start says where and why, and the next one starts`(verb: String) throws {
        let stub = try StubProcess()
        let url = stub.url
        let wrong = problems(among: Array(Self.starts.cases.enumerated())) { number, entry in
            var findings = Findings()
            let sample = try SampleSpool()
            try sample.seal([["s\(number)"]])
            let injector = try FaultInjector(root: sample.path)
            try injector.set(entry.fault.rule)
            let words = ["--spool", sample.path, "--graphjson-url", url]
            let first = try Self.run([verb] + words, under: injector)
            findings.equal(first.code, entry.outcome, "exit code with \(first.errors)")
            findings.check(try !injector.log().faults.isEmpty, "the fault was not met")
            Self.checkTold(first.errors, entry.fault, sample.path, &findings)
            try findings.balance(sample.spool, "after it")
            let second = try Self.run(["drain"] + words)
            findings.equal(second.code, 0, "the next \(second.errors)")
            try findings.balance(sample.spool, "at the end")
            try findings.empty(sample.spool)
            return findings.texts.map { "\(entry.fault): \($0)" }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        #expect(try stub.events().map(\.id).sorted() == Self.starts.cases.indices.map { "s\($0)" }.sorted())
    }

    // MARK: Replay and discard

    static let edits = FaultGroup<Int32>(
        "an edit of quarantine",
        [
            (DiskFault.each(["ENOSPC", "EIO", "EMFILE"], "open", "quarantine/lock"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "open", "quarantine/lock"), 78),
            (DiskFault.each(["EIO", "ENOLCK"], "lock", "quarantine/lock"), 74),
            (DiskFault.each(["EIO", "EMFILE"], "open", "quarantine/[0-9]*.lz4"), 74),
            (DiskFault.each(["EACCES"], "open", "quarantine/[0-9]*.lz4"), 78),
            (DiskFault.each(["EIO"], "read", "quarantine/[0-9]*.lz4"), 74),
            (DiskFault.each(["EIO", "ENOLCK"], "lock", "quarantine/[0-9]*.lz4"), 74),
            (DiskFault.each(["ENOSPC", "EIO", "EMFILE"], "create", "quarantine/.new-[0-9]*.lz4"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "create", "quarantine/.new-[0-9]*.lz4"), 78),
            (DiskFault.each(DiskFault.writing, "write", "quarantine/.new-[0-9]*.lz4"), 74),
            (DiskFault.each(DiskFault.syncing, "fsync", "quarantine/.new-[0-9]*.lz4"), 74),
            (DiskFault.each(DiskFault.syncing, "fsync", "quarantine"), 74),
            (DiskFault.each(DiskFault.syncing, "fsync", "quarantine", when: "2"), 74),
            (DiskFault.each(DiskFault.writing, "write", "ledger"), 74),
            (DiskFault.each(DiskFault.syncing, "fdatasync", "ledger"), 74),
            (DiskFault.each(["EIO", "ENOLCK"], "lock", "ledger"), 74),
            (DiskFault.each(["ENOSPC", "EIO"], "rename", "quarantine/.new-[0-9]*>*"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "rename", "quarantine/.new-[0-9]*>*"), 78),
            (DiskFault.each(["EIO"], "rename", "quarantine/.new-[0-9]*>quarantine/*"), 74),
            (DiskFault.each(["EIO"], "unlink", "quarantine/[0-9]*.lz4"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "unlink", "quarantine/[0-9]*.lz4"), 78),
            (
                [
                    .short("quarantine/.new-*"), .short("ledger"), .interrupted("write|fsync|fdatasync|lock", "*"),
                    .late("fsync", "quarantine*"), .late("fdatasync", "ledger"),
                ], 0
            ),
        ]
    )

    @Test(arguments: ["replay", "discard"])
    func `an edit of quarantine on a failing disk loses no record, and is completed by the next`(verb: String) throws {
        let stub = try StubProcess()
        let url = stub.url
        let ids = ["a1", "a2", "a3", "b1", "b2", "b3"]
        let wrong = problems(among: Array(Self.edits.cases.enumerated()), atOnce: 6) { number, entry in
            var findings = Findings()
            let sample = try SampleSpool()
            try sample.quarantine(ids.prefix(3).map { "e\(number)-\($0)" }, sequence: 0)
            try sample.quarantine(ids.suffix(3).map { "e\(number)-\($0)" }, sequence: 1)
            let injector = try FaultInjector(root: sample.path)
            try injector.set(entry.fault.rule)
            let words = ["--spool", sample.path]
            // All of the first file and a part of the second.
            let first = try Self.run(["quarantine", verb, "--limit", "4"] + words, under: injector)
            findings.equal(first.code, entry.outcome, "exit code with \(first.errors)")
            findings.check(try !injector.log().faults.isEmpty, "the fault was not met")
            Self.checkTold(first.errors, entry.fault, sample.path, &findings)
            try findings.balance(sample.spool, "after it")
            let between = try SpoolStatus.read(sample.spool)
            findings.equal(between.accountedFor, ids.count, "records after it")

            let second = try Self.run(["quarantine", verb, "--all"] + words)
            findings.equal(second.code, 0, "the next \(second.errors)")
            let drain = try Self.run(["drain", "--graphjson-url", url] + words)
            findings.equal(drain.code, 0, "drain \(drain.errors)")
            try findings.balance(sample.spool, "at the end")
            try findings.empty(sample.spool)
            let status = try SpoolStatus.read(sample.spool)
            findings.equal(status.quarantined, 0, "quarantined")
            findings.equal(status.counts.delivered + status.counts.discarded, ids.count, "delivered and discarded")
            return findings.texts.map { "\(entry.fault): \($0)" }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        let arrived = try stub.events().map(\.id).sorted()
        let expected = Self.edits.cases.indices.flatMap { number in ids.map { "e\(number)-\($0)" } }.sorted()
        #expect(arrived == (verb == "replay" ? expected : []))
    }

    // MARK: Folding

    @Test func `a ledger that cannot be folded costs room and nothing else, and is folded by the next`() throws {
        let path = ".new-ledger*"
        let faults =
            DiskFault.each(DiskFault.making, "create", path) + DiskFault.each(DiskFault.writing, "write", path)
            + DiskFault.each(DiskFault.syncing, "fsync", path)
            + DiskFault.each(DiskFault.naming, "rename", ".new-ledger*>ledger")
            + DiskFault.each(["EIO"], "fsync", "incoming")
        let harmless: [DiskFault] = [
            .short(path, bytes: 100), .interrupted("write|fsync", path), .late("fsync", path),
        ]
        let stub = try StubProcess()
        let url = stub.url
        let wrong = problems(among: faults + harmless) { fault in
            var findings = Findings()
            let sample = try QuarantineKillTests.largeLedger("x")
            let injector = try FaultInjector(root: sample.path)
            try injector.set(fault.rule)
            let words = ["drain", "--spool", sample.path, "--graphjson-url", url]
            let first = try Self.run(words, under: injector)
            findings.equal(first.code, 0, "exit code with \(first.errors)")
            findings.check(try !injector.log().faults.isEmpty, "the fault was not met")
            Self.checkTold(first.errors, fault, sample.path, &findings)
            try findings.balance(sample.spool, "after it")
            try sample.seal([["y"]], sequence: 2)
            findings.equal(try Self.run(words).code, 0, "the next")
            try findings.balance(sample.spool, "at the end")
            findings.equal(try SpoolStatus.read(sample.spool).counts.delivered, 3, "delivered")
            findings.check(try FileStatus(of: sample.spool.ledger).size < 1 << 20, "the ledger is not folded")
            return findings.texts
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }
}

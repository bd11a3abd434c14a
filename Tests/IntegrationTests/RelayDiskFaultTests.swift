// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Each call by which a relay reads and changes the spool, failing in each way, under the real program.
///
/// In every case: nothing is lost or sent twice, the books balance under the fault and after it, the log names file and
/// cause, a drain ends with the stated code, a run lives, and goes on by itself once the fault is over or, where stated,
/// after a new start.
@Suite(.timeLimit(.minutes(5)))
struct RelayDiskFaultTests {
    struct Outcome: Sendable {
        /// How a drain ends under the fault.
        var code: Int32
        /// Whether a run goes on by itself within seconds; what was left alone is tried again after a minute.
        var heals = true
        /// Whether anything is told.
        var isTold = true
        /// Whether it fails only when a run is ending.
        var isAtEnd = false

        /// It costs nothing but time, or what can be done without.
        static let unnoticed = Outcome(code: 0, isTold: false)
        /// All is delivered, and what was done without is told.
        static let doneWithout = Outcome(code: 0)
        /// Something stays for later.
        static let workRemains = Outcome(code: 75)
        /// A segment is left alone for a minute.
        static let leftAlone = Outcome(code: 75, heals: false)
    }

    static let groups: [FaultGroup<Outcome>] = [
        FaultGroup(
            "taking over what dead writers and relays left",
            [
                (DiskFault.each(["EIO", "EMFILE"], "open", "incoming"), .workRemains),
                (DiskFault.each(DiskFault.opening, "open", "incoming/*.open"), .workRemains),
                (DiskFault.each(["EIO", "ENOLCK"], "lock", "incoming/*.open"), .workRemains),
                (DiskFault.each(DiskFault.naming, "rename", "incoming/[0-9]*>ready/*"), .workRemains),
                (DiskFault.each(["EIO"], "fsync", "ready"), .workRemains),
                (DiskFault.each(DiskFault.opening, "open", "claimed/dead/lock"), .workRemains),
                (DiskFault.each(["EIO", "ENOLCK"], "lock", "claimed/dead/lock"), .workRemains),
                (DiskFault.each(DiskFault.naming, "rename", "claimed/dead/*>claimed/*"), .workRemains),
                (DiskFault.each(["EIO", "EROFS"], "unlink", "claimed/dead/lock"), .workRemains),
            ]
        ),
        FaultGroup(
            "claims",
            [
                (DiskFault.each(["EIO", "EMFILE"], "open", "ready"), Outcome(code: 74)),
                (DiskFault.each(["ENOSPC"], "rename", "ready/[0-9]*>claimed/*"), Outcome(code: 74)),
                (DiskFault.each(["EROFS"], "rename", "ready/[0-9]*>claimed/*"), Outcome(code: 78)),
                (DiskFault.each(["EIO", "EACCES"], "rename", "ready/[0-9]*>claimed/*"), .leftAlone),
                (DiskFault.each(DiskFault.opening, "open", "claimed/*.lz4"), .leftAlone),
                (DiskFault.each(["EIO"], "read", "claimed/*.lz4"), .leftAlone),
                (DiskFault.each(["EIO", "EROFS"], "unlink", "claimed/*.lz4"), .workRemains),
            ]
        ),
        FaultGroup(
            "progress",
            [
                // Before a record is in quarantine, a progress file must say that one may be there.
                (DiskFault.each(DiskFault.making, "create", "progress/[0-9]*"), .workRemains),
                (DiskFault.each(DiskFault.syncing, "fsync", "progress"), .workRemains),
                (DiskFault.each(DiskFault.writing, "write", "progress/*"), .doneWithout),
                (DiskFault.each(["EIO", "EROFS"], "unlink", "progress/[0-9]*"), .unnoticed),
                (
                    [
                        .short("progress/*"), .interrupted("write", "progress/*"), .late("write", "progress/*"),
                    ], .unnoticed
                ),
            ]
        ),
        FaultGroup(
            "quarantine",
            [
                (DiskFault.each(DiskFault.making, "create", "quarantine/.new-*.lz4"), .workRemains),
                (DiskFault.each(["EIO", "ENOLCK"], "lock", "quarantine/.new-*.lz4"), .workRemains),
                (DiskFault.each(DiskFault.writing, "write", "quarantine/.new-*.lz4"), .workRemains),
                (DiskFault.each(DiskFault.syncing, "fdatasync", "quarantine/.new-*.lz4"), .workRemains),
                (DiskFault.each(DiskFault.naming, "rename", "quarantine/.new-*>quarantine/*"), .workRemains),
                (DiskFault.each(DiskFault.syncing, "fsync", "quarantine"), .workRemains),
                // The footer: the entries are durable before.
                (DiskFault.each(["ENOSPC"], "write", "quarantine/[0-9]*.lz4"), .unnoticed),
                (DiskFault.each(["EIO"], "write|fsync", "quarantine/[0-9]*.lz4"), .doneWithout),
                (DiskFault.each(["EIO"], "truncate", "quarantine/[0-9]*.lz4"), .doneWithout),
                (
                    [
                        .short("quarantine/*.lz4"), .interrupted("write|fdatasync|fsync|truncate", "quarantine*"),
                        .late("fdatasync", "quarantine/*"), .late("fsync", "quarantine"),
                    ], .unnoticed
                ),
            ]
        ),
        FaultGroup(
            "bytes that cannot be read",
            [
                (DiskFault.each(DiskFault.making, "create", "quarantine/*.damaged"), .workRemains),
                (DiskFault.each(DiskFault.writing, "write", "quarantine/*.damaged"), .workRemains),
                (DiskFault.each(DiskFault.syncing, "fsync", "quarantine/*.damaged"), .workRemains),
                (DiskFault.harmless("quarantine/*.damaged"), .unnoticed),
            ]
        ),
        FaultGroup(
            "the ledger",
            [
                // The segment of the killed writer has no line yet and is left alone; the others are not finished.
                (DiskFault.each(DiskFault.writing, "write", "ledger"), .leftAlone),
                (DiskFault.each(DiskFault.syncing, "fdatasync", "ledger"), .leftAlone),
                (DiskFault.each(["EIO", "ENOLCK"], "lock", "ledger"), .leftAlone),
                (DiskFault.harmless("ledger"), .unnoticed),
            ]
        ),
        FaultGroup(
            "gate and duplicate window",
            [
                (DiskFault.each(DiskFault.making, "create", "gate"), .doneWithout),
                (DiskFault.each(DiskFault.writing, "write", "gate"), .doneWithout),
                (DiskFault.each(["EIO", "ENOLCK"], "lock", "gate"), .doneWithout),
                (DiskFault.each(DiskFault.making, "create", ".new-duplicates*"), .doneWithout),
                (DiskFault.each(["ENOSPC", "EIO"], "reserve", ".new-duplicates*"), .doneWithout),
                (DiskFault.each(DiskFault.writing, "write", ".new-duplicates*"), .doneWithout),
                (DiskFault.each(DiskFault.naming, "rename", ".new-duplicates*>duplicates"), .doneWithout),
                (
                    [
                        .short("gate"), .short(".new-duplicates*"), .interrupted("write|lock", "gate"),
                        .interrupted("write|reserve", ".new-duplicates*"),
                    ], .unnoticed
                ),
            ]
        ),
        FaultGroup(
            "leaving",
            [
                (DiskFault.each(["EIO", "EROFS"], "unlink", "claimed/[0-9]*/lock"), Outcome(code: 0, isAtEnd: true)),
                (DiskFault.each(["EIO", "EROFS"], "rmdir", "claimed/[0-9]*"), Outcome(code: 0, isAtEnd: true)),
            ]
        ),
    ]

    /// Progress is made durable once a second: for runs that take longer.
    static let slow = FaultGroup<Outcome>(
        "durable progress",
        [
            (DiskFault.each(["EIO"], "fdatasync", "progress/*"), .doneWithout)
        ]
    )

    private static let settings = [
        "SLUICE_RELAY_DUPLICATE_WINDOW": "1000", "SLUICE_RELAY_DRAIN_PATIENCE_S": "4",
        "SLUICE_RELAY_LINGER_S": "0.01", "SLUICE_RELAY_MAX_IN_FLIGHT": "2",
    ]

    private static func drain(
        _ sample: SampleSpool,
        to url: String,
        under injector: FaultInjector? = nil
    ) throws -> ProcessRunner.Result {
        try sample.drain(to: url, settings: settings, under: injector)
    }

    @Test(arguments: groups + [slow])
    func `a relay on a failing disk loses nothing, sends nothing twice, and goes on when it works`(
        group: FaultGroup<Outcome>
    ) throws {
        let drains = group.cases.enumerated().map { ("d\($0)", $1.fault, $1.outcome) }
        let cases = drains + group.firsts.enumerated().map { ("r\($0)", $1.fault, $1.outcome) }
        let latency = group.name == Self.slow.name ? ["--latency-ms", "500"] : []
        let stub = try StubProcess(flags: latency + cases.flatMap { ["--poison", "\($0.0)-bad"] })
        let url = stub.url
        let wrong = problems(among: cases, atOnce: 12) { prefix, fault, outcome in
            var findings = Findings()
            let sample = try SampleSpool.mixed(prefix)
            let injector = try FaultInjector(root: sample.path)
            if prefix.hasPrefix("d") {
                try Self.underDrain(fault, outcome, sample, injector, url, &findings)
            } else {
                try Self.underRun(fault, outcome, sample, injector, url, &findings)
            }
            let last = try Self.drain(sample, to: url)
            findings.equal(last.code, 0, "the drain after it \(last.output) \(last.errors)")
            try findings.isDone(sample)
            return findings.texts
        }
        var all = wrong
        let arrived = try stub.idsByPrefix()
        for (prefix, fault, _) in cases {
            let ids = arrived[prefix] ?? []
            if ids != SampleSpool.mixedDelivered { all.append("\(prefix) \(fault): arrived \(ids)") }
        }
        #expect(all.isEmpty, "\(all.joined(separator: "\n"))")
    }

    private static func underDrain(
        _ fault: DiskFault,
        _ outcome: Outcome,
        _ sample: SampleSpool,
        _ injector: FaultInjector,
        _ url: String,
        _ findings: inout Findings
    ) throws {
        try injector.set(fault.rule)
        let result = try drain(sample, to: url, under: injector)
        findings.equal(result.code, outcome.code, "drain \(result.output) \(result.errors)")
        findings.check(try !injector.log().faults.isEmpty, "the fault was not met")
        try findings.balance(sample.spool, "after the drain")
        checkTold(result.errors, fault, outcome, sample, &findings)
    }

    private static func underRun(
        _ fault: DiskFault,
        _ outcome: Outcome,
        _ sample: SampleSpool,
        _ injector: FaultInjector,
        _ url: String,
        _ findings: inout Findings
    ) throws {
        try injector.set(fault.rule)
        let runner = SampleSpool.runner(settings.merging(["SLUICE_RELAY_ADMIN_LISTEN": "off"]) { $1 })
        let words = ["run", "--spool", sample.path, "--graphjson-url", url]
        let relay = try runner.under(injector).start("sluice-relay", words)
        if !outcome.isAtEnd {
            let isMet = relay.wait(seconds: 10) { !relay.isRunning || (try? injector.log().faults.isEmpty) == false }
            findings.check(isMet, "the fault was not met")
            findings.check(relay.isRunning, "the run has ended: \(relay.errors)")
            try findings.balance(sample.spool, "under the fault")
            try injector.clear()
        }
        if outcome.heals {
            let isDone = relay.wait(seconds: 15) { (try? Self.isDone(sample)) == true }
            findings.check(isDone, "the run does not go on: \(relay.errors)")
        }
        relay.terminate()
        let result = relay.result(seconds: 20)
        findings.equal(result.code, 0, "exit code of the run \(result.errors)")
        try findings.balance(sample.spool, "after the run")
        checkTold(result.errors, fault, outcome, sample, &findings)
    }

    /// Whether nothing waits any more.
    private static func isDone(_ sample: SampleSpool) throws -> Bool {
        let status = try SpoolStatus.read(sample.spool)
        return status.pending == 0 && status.segments.open + status.segments.ready + status.segments.claimed == 0
    }

    private static func checkTold(
        _ log: String,
        _ fault: DiskFault,
        _ outcome: Outcome,
        _ sample: SampleSpool,
        _ findings: inout Findings
    ) {
        guard outcome.isTold, let reason = fault.reason else { return }
        findings.check(log.contains(reason), "the cause is not told: \(log)")
        findings.check(log.contains(sample.path), "the file is not told: \(log)")
    }
}

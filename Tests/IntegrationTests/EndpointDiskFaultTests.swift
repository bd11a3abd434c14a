// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Each call by which an endpoint writes, failing in each way, under the real program.
///
/// In every case: no 200 for what is not stored, the program lives, events are taken again once the fault is over, the
/// log names file and cause, and at the end what was acknowledged is delivered and the books balance.
@Suite(.timeLimit(.minutes(3)))
struct EndpointDiskFaultTests {
    enum Outcome {
        /// Requests are answered 503.
        case refused
        /// Requests are answered 200; what failed is told and made good later.
        case taken
        /// Requests are answered 200 and nothing is told.
        case unnoticed
    }

    static let groups: [FaultGroup<Outcome>] = [
        FaultGroup(
            "beginning a segment",
            [
                (DiskFault.each(DiskFault.making, "create", "incoming/.new-*.open"), .refused),
                (DiskFault.each(["EIO", "ENOLCK"], "lock", "incoming/.new-*.open"), .refused),
                (DiskFault.each(["ENOSPC", "EIO"], "reserve", "incoming/.new-*.open"), .refused),
                (DiskFault.each(["EOPNOTSUPP"], "reserve", "incoming/.new-*.open"), .unnoticed),
                (DiskFault.each(DiskFault.writing, "write", "incoming/.new-*.open"), .refused),
                (DiskFault.each(DiskFault.naming, "rename", "incoming/.new-*.open>incoming/*.open"), .refused),
                (DiskFault.each(DiskFault.syncing, "fsync", "incoming", when: "1"), .refused),
                (DiskFault.each(DiskFault.syncing, "fsync", "incoming"), .refused),
                (
                    [
                        .interrupted("lock", "incoming/.new-*.open"), .interrupted("reserve", "incoming/.new-*.open"),
                        .interrupted("write", "incoming/.new-*.open"), .short("incoming/.new-*.open"),
                        .interrupted("fsync", "incoming"), .late("fsync", "incoming"),
                    ], .unnoticed
                ),
            ]
        ),
        FaultGroup(
            "a commit",
            [
                (DiskFault.each(DiskFault.writing, "write", "incoming/[0-9]*.open"), .refused),
                (DiskFault.each(DiskFault.writing, "write", "incoming/[0-9]*.open", when: "1"), .refused),
                (DiskFault.each(DiskFault.syncing, "fdatasync", "incoming/*.open"), .refused),
                (DiskFault.each(DiskFault.syncing, "fdatasync", "incoming/*.open", when: "1"), .refused),
                (
                    [
                        .short("incoming/[0-9]*.open", bytes: 1000), .interrupted("write", "incoming/[0-9]*.open"),
                        .interrupted("fdatasync", "incoming/*.open"), .late("fdatasync", "incoming/*.open"),
                        .late("write", "incoming/[0-9]*.open"),
                    ], .unnoticed
                ),
                // Longer than a commit may take.
                ([.late("fdatasync", "incoming/*.open", milliseconds: 3000)], .refused),
            ]
        ),
        FaultGroup(
            "sealing a segment",
            [
                // The second write is the footer.
                (DiskFault.each(DiskFault.writing, "write", "incoming/[0-9]*.open", when: "2"), .taken),
                (DiskFault.each(["EIO"], "truncate", "incoming/*.open"), .taken),
                (DiskFault.each(DiskFault.syncing, "fsync", "incoming/*.open"), .taken),
                (DiskFault.each(DiskFault.syncing, "fsync", "incoming/*.open", when: "1"), .taken),
                (DiskFault.each(DiskFault.naming, "rename", "incoming/*>ready/*"), .taken),
                (DiskFault.each(DiskFault.syncing, "fsync", "ready"), .taken),
                (DiskFault.each(DiskFault.syncing, "fsync", "incoming", when: "2"), .taken),
                (
                    [
                        .interrupted("fsync", "incoming/*.open"), .interrupted("truncate", "incoming/*.open"),
                        .interrupted("fsync", "ready"), .late("fsync", "incoming/*.open"), .late("fsync", "ready"),
                    ], .unnoticed
                ),
            ]
        ),
        FaultGroup(
            "its line in the ledger",
            [
                (DiskFault.each(DiskFault.writing, "write", "ledger"), .taken),
                (DiskFault.each(["EIO", "ENOLCK"], "lock", "ledger"), .taken),
                (
                    [.short("ledger"), .interrupted("write", "ledger"), .interrupted("lock", "ledger")], .unnoticed
                ),
            ]
        ),
    ]

    @Test(arguments: groups)
    func `a failing disk refuses what cannot be stored, and is used again when it works`(
        group: FaultGroup<Outcome>
    ) throws {
        let folder = TemporaryFolder()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let stub = try StubProcess()
        let url = stub.url
        let acknowledged = Lock<Set<String>>([])
        let wrong = problems(among: Array(group.cases.enumerated()), atOnce: 12) { number, entry in
            var findings = Findings()
            let ids = try Self.run(
                entry.fault,
                entry.outcome,
                spool: folder.path("spool-\(number)"),
                contract: contract,
                prefix: "f\(number)",
                &findings
            )
            acknowledged.withLock { $0.formUnion(ids) }
            try Self.drain(folder.path("spool-\(number)"), to: url, &findings)
            return findings.texts.map { "\(entry.fault) → \(entry.outcome): \($0)" }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        let arrived = Set(try stub.events().map(\.id))
        let lost = acknowledged.withLock { $0 }.subtracting(arrived)
        #expect(lost.isEmpty)
    }

    /// Posts before, during and after the fault.
    ///
    /// - Returns: the ids that were acknowledged.
    private static func run(
        _ fault: DiskFault,
        _ outcome: Outcome,
        spool: String,
        contract: String,
        prefix: String,
        _ findings: inout Findings
    ) throws -> [String] {
        let injector = try FaultInjector(root: spool, record: [.changes])
        var settings = ["SLUICE_SPOOL_SEGMENT_BYTES": "4096"]
        if outcome == .refused && fault.reason == nil { settings["SLUICE_ENDPOINT_COMMIT_TIMEOUT_S"] = "1.5" }
        let endpoint = try EndpointRun(spool: spool, contract: contract, settings: settings, under: injector)
        guard let port = endpoint.port, let client = EndpointClient(port: port) else {
            findings.check(false, "does not start: \(endpoint.process.errors)")
            return []
        }
        var acknowledged: [String] = []
        func post(_ name: String) -> RawAnswer? {
            let ids = (0..<3).map { "\(prefix)-\(name)-\($0)" }
            let answer = client.post(EndpointProcess.largeBatch(ids))
            if answer?.status == 200 { acknowledged += ids }
            return answer
        }

        // Each batch fills a segment: the next one begins another, and everything is done once more.
        findings.equal(post("before")?.status, 200, "before the fault")
        // The last call of a seal.
        let isSealed = endpoint.process.wait(seconds: 5) {
            let last = try? injector.log().changes.last
            return last.map { $0.operation == .syncfolder && $0.path == "incoming" } == true
                && (try? FileSystem.names(in: "\(spool)/ready").count) == 1
        }
        findings.check(isSealed, "the first segment is not sealed")
        try injector.set(fault.rule)
        let answer = post("during")
        switch outcome {
        case .refused:
            findings.equal(answer?.status, 503, "answer under the fault")
            findings.check(answer?.header("Retry-After") != nil, "no Retry-After")
        case .taken, .unnoticed: findings.equal(answer?.status, 200, "answer under the fault")
        }
        let didFail = endpoint.process.wait(seconds: 5) { (try? injector.log().faults.isEmpty) == false }
        findings.check(didFail, "the fault was not met")
        _ = post("again")
        try injector.clear()
        let works = endpoint.process.wait(seconds: 10) { post("after-\(acknowledged.count)")?.status == 200 }
        findings.check(works, "no event is taken after the fault")
        endpoint.process.terminate()
        let result = endpoint.process.result(seconds: 20)
        findings.equal(result.code, 0, "exit code")
        if outcome == .unnoticed {
            let told = result.errors.split(separator: "\n").filter { !$0.contains(#""level":"notice""#) }
            findings.check(told.isEmpty, "told without need: \(told)")
        } else if let reason = fault.reason {
            findings.check(result.errors.contains(reason), "the cause is not told: \(result.errors)")
            findings.check(result.errors.contains(spool), "the file is not told: \(result.errors)")
        }
        return acknowledged
    }

    /// Delivers what is in the spool, and checks the books before and after.
    static func drain(_ spool: String, to url: String, _ findings: inout Findings) throws {
        let books = try SpoolFolder.open(spool, create: false, role: .reader)
        try findings.balance(books, "after the fault")
        let result = try SampleSpool.runner(["SLUICE_RELAY_DUPLICATE_WINDOW": "0"])
            .run("sluice-relay", ["drain", "--spool", spool, "--graphjson-url", url])
        findings.equal(result.code, 0, "drain \(result.errors)")
        try findings.balance(books, "at the end")
        try findings.empty(books)
    }
}

/// A started `sluice-endpoint serve` that may end before it listens.
struct EndpointRun {
    let process: RunningProcess
    /// Where it listens; nil when it ended before.
    let port: UInt16?

    init(
        spool: String,
        contract: String,
        settings: [String: String] = [:],
        under injector: FaultInjector? = nil
    ) throws {
        let runner = ProcessRunner(environment: EndpointProcess.unlimited.merging(settings) { $1 })
        let words = ["serve", "--spool", spool, "--contract", contract, "--listen", "127.0.0.1:0", "--admin", "off"]
        process = try runner.under(injector).start("sluice-endpoint", words)
        port = process.line(startingWith: "listening on ")?.split(separator: ":").last.flatMap { UInt16($0) }
    }
}

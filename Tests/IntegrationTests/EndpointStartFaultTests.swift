// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Starts of an endpoint, and imports, on a disk that fails.
@Suite(.timeLimit(.minutes(3)))
struct EndpointStartFaultTests {
    static let starts = FaultGroup<Int32>(
        "the start of an endpoint",
        [
            (DiskFault.each(["EROFS", "EACCES"], "mkdir", "*"), 78),
            (DiskFault.each(["ENOSPC", "EIO"], "mkdir", "*"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "create", ".new-FORMAT*"), 78),
            (DiskFault.each(["ENOSPC", "EIO", "EMFILE"], "create", ".new-FORMAT*"), 74),
            (DiskFault.each(["ENOSPC", "EIO"], "write|fsync", ".new-FORMAT*"), 74),
            (DiskFault.each(["EIO"], "rename", ".new-FORMAT*"), 74),
            (DiskFault.each(["EIO"], "fsync", "."), 74),
            (DiskFault.each(["EROFS", "EACCES"], "create|rename|unlink", "*.new-probe*"), 78),
            (DiskFault.each(["EIO", "EMFILE"], "create|rename|unlink", "*.new-probe*"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "create", "ledger"), 78),
            (DiskFault.each(["ENOSPC", "EIO", "EMFILE"], "create", "ledger"), 74),
            (DiskFault.each(["EIO", "EMFILE"], "open", "incoming"), 74),
            // A full disk is no reason not to start.
            (DiskFault.each(["ENOSPC"], "create|rename", "*.new-probe*"), 0),
        ]
    )

    static let imports = FaultGroup<Int32>(
        "an import",
        [
            (DiskFault.each(["ENOSPC", "EIO", "EMFILE"], "create", "incoming/.new-*.open"), 74),
            (DiskFault.each(["EROFS", "EACCES"], "create", "incoming/.new-*.open"), 78),
            (DiskFault.each(["ENOSPC", "EIO"], "reserve|write", "incoming/.new-*.open"), 74),
            (DiskFault.each(["EIO"], "rename", "incoming/.new-*.open>*"), 74),
            (DiskFault.each(["ENOSPC", "EIO"], "write|fdatasync", "incoming/[0-9]*.open", when: "1"), 74),
            (DiskFault.each(["EIO"], "fsync", "incoming"), 74),
            // What was taken is durable; the rest is made good by whoever claims the segment.
            (DiskFault.each(["EIO"], "write", "incoming/[0-9]*.open", when: "2"), 0),
            (DiskFault.each(["EIO"], "fsync", "incoming/*.open"), 0),
            (DiskFault.each(["EIO", "EROFS"], "rename", "incoming/[0-9]*>ready/*"), 0),
            (DiskFault.each(["ENOSPC", "EIO"], "write|lock", "ledger"), 0),
            (DiskFault.each(["ENOSPC", "EIO", "EOPNOTSUPP"], "reserve", "ledger"), 0),
            (
                [
                    .short("incoming/*.open", bytes: 100), .interrupted("write|fsync|fdatasync|lock", "*"),
                    .late("fdatasync", "incoming/*.open"),
                ], 0
            ),
        ]
    )

    /// What a start does that cannot make its files: ends with the code, says where and why, and leaves nothing that
    /// would keep the next one from starting.
    @Test(arguments: [starts])
    func `a start that cannot make its files says where and why, and the next one starts`(
        group: FaultGroup<Int32>
    ) throws {
        let folder = TemporaryFolder()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let wrong = problems(among: Array(group.cases.enumerated())) { number, entry in
            var findings = Findings()
            let spool = folder.path("spool-\(number)")
            let injector = try FaultInjector(root: spool)
            try injector.set(entry.fault.rule)
            let first = try EndpointRun(spool: spool, contract: contract, under: injector)
            first.process.terminate()
            let result = first.process.result(seconds: 20)
            findings.equal(result.code, entry.outcome, "exit code with \(result.errors)")
            findings.check(try !injector.log().faults.isEmpty, "the fault was not met")
            if entry.outcome != 0, let reason = entry.fault.reason {
                findings.check(result.errors.contains(reason), "the cause is not told: \(result.errors)")
                findings.check(result.errors.contains(spool), "the file is not told: \(result.errors)")
            }
            let second = try EndpointRun(spool: spool, contract: contract)
            findings.check(second.port != nil, "the next does not start: \(second.process.errors)")
            let answer = second.port.flatMap { EndpointClient(port: $0)?.post(EndpointProcess.batch(["a"])) }
            findings.equal(answer?.status, 200, "answer of the next")
            second.process.terminate()
            findings.equal(second.process.result(seconds: 20).code, 0, "exit code of the next")
            return findings.texts.map { "\(entry.fault): \($0)" }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }

    @Test(arguments: [imports])
    func `an import tells what is in the spool, and nothing that it told is missing`(group: FaultGroup<Int32>) throws {
        let folder = TemporaryFolder()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let stub = try StubProcess()
        let url = stub.url
        let wrong = problems(among: Array(group.cases.enumerated())) { number, entry in
            var findings = Findings()
            let spool = folder.path("spool-\(number)")
            let lines = ["a", "b", "c"].map { EndpointProcess.event("i\(number)-\($0)") + "\n" }.joined()
            let injector = try FaultInjector(root: spool)
            try injector.set(entry.fault.rule)
            let words = ["import", "--spool", spool, "--contract", contract]
            let runner = ProcessRunner(environment: EndpointProcess.unlimited)
            let result = try runner.under(injector).run("sluice-endpoint", words, input: lines)
            findings.equal(result.code, entry.outcome, "exit code with \(result.output) \(result.errors)")
            findings.check(try !injector.log().faults.isEmpty, "the fault was not met")
            let told = entry.outcome == 0 ? "accepted 3" : "stopped early: 0 events are in the spool"
            findings.check(result.output.contains(told), "told: \(result.output)")
            if entry.outcome != 0, let reason = entry.fault.reason {
                findings.check(result.errors.contains(reason), "the cause is not told: \(result.errors)")
                findings.check(result.errors.contains(spool), "the file is not told: \(result.errors)")
                let again = try runner.run("sluice-endpoint", words, input: lines)
                findings.equal(again.code, 0, "import without the fault")
            }
            try EndpointDiskFaultTests.drain(spool, to: url, &findings)
            return findings.texts.map { "\(entry.fault): \($0)" }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
        let arrived = Set(try stub.events().map(\.id))
        #expect(arrived == Set(group.cases.indices.flatMap { number in ["a", "b", "c"].map { "i\(number)-\($0)" } }))
    }
}

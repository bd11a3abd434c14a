// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// A relay that is killed at every single call by which it changes the spool, one run for each.
///
/// Case C68.
@Suite(.timeLimit(.minutes(3)))
struct RelayKillTests {
    private static func settings(window: Int) -> [String: String] {
        // One request at a time: at most one is under way when it is killed.
        ["SLUICE_RELAY_MAX_IN_FLIGHT": "1", "SLUICE_RELAY_DUPLICATE_WINDOW": "\(window)"]
    }

    private static func drain(
        _ sample: SampleSpool,
        to url: String,
        window: Int,
        under injector: FaultInjector? = nil
    ) throws -> ProcessRunner.Result {
        try sample.drain(to: url, settings: settings(window: window), under: injector)
    }

    /// A run that nobody disturbs: its calls are the points.
    private static func points(window: Int) throws -> [KillPoint] {
        let sample = try SampleSpool.mixed("count")
        let injector = try FaultInjector(root: sample.path, record: [.changes])
        let stub = try StubProcess("--poison", "count-bad")
        let result = try drain(sample, to: stub.url, window: window, under: injector)
        #expect(result.code == 0, "\(result.errors)")
        return KillPoint.all(of: try injector.log(), where: KillPoint.isWork)
    }

    /// Without the duplicate window only the progress files keep a relay from sending again what was answered.
    @Test(arguments: [0, 1000])
    func `a relay killed at any call loses nothing, repeats what was under way, and leaves no claim`(
        window: Int
    ) throws {
        let points = try Self.points(window: window)
        #expect(points.count > 50)
        let stub = try StubProcess(flags: points.flatMap { ["--poison", "\($0.prefix)-bad"] })
        let url = stub.url
        var wrong = problems(among: points) { point in
            var findings = Findings()
            let sample = try SampleSpool.mixed(point.prefix)
            try point.kill(in: sample, &findings) { try Self.drain(sample, to: url, window: window, under: $0) }
            let next = try Self.drain(sample, to: url, window: window)
            findings.equal(next.code, 0, "next run \(next.output) \(next.errors)")
            try findings.isDone(sample)
            return findings.texts
        }
        let arrived = try stub.events()
        let byPoint = Dictionary(grouping: arrived) { $0.id.split(separator: "-").first.map(String.init) ?? "" }
        for point in points {
            var findings = Findings()
            let events = byPoint[point.prefix] ?? []
            let ids = Set(events.map { String($0.id.dropFirst(point.prefix.count + 1)) })
            findings.equal(ids.sorted(), SampleSpool.mixedDelivered, "arrived")
            let repeats = Dictionary(grouping: events, by: \.id).filter { $1.count > 1 }
            findings.check(repeats.values.allSatisfy { $0.count == 2 }, "sent three times: \(repeats.keys)")
            // One request was under way: what came again must have come in one request the first time.
            let requests = Set(repeats.values.compactMap { $0.map(\.request).min() })
            findings.check(requests.count <= 1, "repeats of several requests: \(repeats.keys.sorted())")
            wrong += findings.texts.map { "\(point): \($0)" }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }

    @Test func `what a killed relay wrote into the ledger is durable before the next one acts upon it`() throws {
        let sample = try SampleSpool()
        let name = try sample.seal([["a"]])
        let stub = try StubProcess()
        let injector = try FaultInjector(root: sample.path, record: [.changes])
        try injector.set("fdatasync ledger 1 kill")
        #expect(try Self.drain(sample, to: stub.url, window: 0, under: injector).code == 128 + SIGKILL)
        #expect(try Ledger.book(of: sample.spool).finished == [name])
        try injector.clear()
        try injector.clearLog()
        #expect(try Self.drain(sample, to: stub.url, window: 0, under: injector).code == 0)
        let changes = try injector.log().changes
        let removal = changes.firstIndex { $0.operation == .unlink && $0.path.hasSuffix("/\(name.sealedFileName)") }
        #expect(changes[..<(try #require(removal))].contains { $0.operation == .fdatasync && $0.path == "ledger" })
        #expect(try stub.events().map(\.id) == ["a"])
    }

    @Test func `the kills of these tests are real, and a run without them changes nothing of what is sent`() throws {
        let sample = try SampleSpool.mixed("x")
        let stub = try StubProcess("--poison", "x-bad")
        let injector = try FaultInjector(root: sample.path)
        try injector.set("change * 10000 kill")
        #expect(try Self.drain(sample, to: stub.url, window: 1000, under: injector).code == 0)
        #expect(try stub.events().map(\.id).sorted() == SampleSpool.mixedDelivered.map { "x-\($0)" })
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// The public clickstream of `../shared/data`, from envelopes to the destination; skipped where that folder is missing.
struct ClickstreamTests {
    private static let data: String? = {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let folder = "/\(root)/../shared/data"
        return (try? FileStatus(of: "\(folder)/ecom_envelopes.py")) == nil ? nil : folder
    }()

    private static let known = [
        "product_view": 6851, "catalog": 6521, "search": 4011, "home": 2762, "filter_results": 2610, "purchase": 470,
    ]

    /// Imports the set into a new spool.
    private func spool(_ folder: String, _ flags: [String] = []) throws -> SampleSpool {
        let sample = try SampleSpool()
        let made = try ProcessRunner().run("/usr/bin/env", ["python3", "\(folder)/ecom_envelopes.py"] + flags)
        #expect(made.code == 0)
        let result = try ProcessRunner().run(
            "sluice-endpoint",
            ["import", "--contract", "\(folder)/contract.ecom.json5", "--backfill", "--spool", sample.path],
            input: made.output
        )
        #expect(result.code == 0, "\(result.output) \(result.errors)")
        return sample
    }

    @Test(.enabled(if: data != nil, "needs ../shared/data"))
    func `all 31,106 events arrive, each once, each at its own time`() throws {
        let folder = try #require(Self.data)
        let stub = try StubProcess()
        let sample = try spool(folder)
        #expect(try sample.drain(to: stub).code == 0)
        let events = try stub.events()
        #expect(events.count == 31_106)
        #expect(Set(events.map(\.id)).count == 31_106)
        #expect(events.allSatisfy { $0.timestamp == $0.occurredAt })
        let counts = Dictionary(grouping: events, by: \.event).mapValues(\.count)
        for (name, count) in Self.known { #expect(counts[name] == count) }
        #expect(counts.count == 19)
        #expect(try stub.statistic("max_events_per_request") <= 50)
        try expectBalanced(sample.path)
    }

    @Test(.enabled(if: data != nil, "needs ../shared/data"), arguments: [(1, 5000), (60, 900)])
    func `times in no order are gathered into few requests`(precision: Int, most: Int) throws {
        let folder = try #require(Self.data)
        let stub = try StubProcess()
        let sample = try spool(folder, ["--now", "1796011200"])
        let settings = ["SLUICE_GRAPHJSON_TIMESTAMP_PRECISION_S": "\(precision)"]
        #expect(try sample.drain(to: stub, settings: settings).code == 0)
        #expect(try stub.statistic("distinct_event_ids") == 31_106)
        #expect(try stub.statistic("events") == 31_106)
        #expect(try stub.statistic("requests") <= most)
        #expect(try stub.statistic("max_events_per_request") <= 50)
        let events = try stub.events()
        #expect(events.allSatisfy { $0.timestamp <= $0.occurredAt && $0.occurredAt < $0.timestamp + precision })
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// What becomes of three events whose first request is answered with a handed answer and all others with success.
///
/// Cases C55, C56, C57, C58, C59, C60 and C63.
struct HandedAnswerDeliveryTests {
    private static let folder =
        #filePath.split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" } + "/SluiceGraphJSONTests/Answers"

    private static func upstream(answering name: String) throws -> Upstream {
        let bytes = try FileSystem.contents(of: "\(folder)/\(name).resp", limit: 1 << 20)
        return Upstream { _, number in number == 0 ? .answer(bytes, closes: true) : nil }
    }

    private static let delivered = ["C55d-empty", "C55g-good", "C63c-extra"]
    private static let again = [
        "C55c-text", "C55f-cut-json", "C58a-408", "C58b-500-html", "C58c-502-html", "C58d-504", "C58j-425", "C58k-520",
        "C60d-429-none", "C63a-short", "C63b-chunk-cut", "C63d-bad-gzip", "C63e-head-only",
    ]
    private static let paused = ["C60a-429-seconds", "C60c-429-lower", "C60e-503"]
    private static let halted = [
        "C55e-portal", "C57a-401", "C57b-403", "C57c-407", "C58e-404", "C58f-405", "C58g-410", "C58h-415",
    ]
    private static let halved = [
        "C55a-status0", "C55b-bare0", "C56a-207", "C56b-200-failed", "C56c-400-index", "C56d-400-index-wild",
        "C58i-422", "C59-413",
    ]

    @Test func `every handed answer has its consequence in one of the lists`() throws {
        let names = try FileSystem.names(in: Self.folder).map { String($0.dropLast(".resp".utf8.count)) }
        // A date that is past asks for nothing.
        let listed = Self.delivered + Self.again + Self.paused + Self.halted + Self.halved + ["C60b-429-date"]
        #expect(names == listed.sorted())
    }

    @Test(arguments: delivered)
    func `a documented success is one, and nothing is sent twice`(name: String) throws {
        let upstream = try Self.upstream(answering: name)
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<3))
        #expect(try fixture.drain().counts.delivered == 3)
        #expect(upstream.requests.count == 1)
        #expect(try fixture.quarantined().isEmpty)
    }

    @Test(arguments: again + ["C60b-429-date"])
    func `after an unknown outcome the same events go out again as they were`(name: String) throws {
        let upstream = try Self.upstream(answering: name)
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<3))
        #expect(try fixture.drain().counts.delivered == 3)
        #expect(upstream.requests.count == 2)
        #expect(fixture.server.requests[0].body == fixture.server.requests[1].body)
        #expect(try fixture.quarantined().isEmpty)
    }

    @Test(arguments: paused)
    func `a pause that is asked for is kept for all relays, and a drain that is shorter leaves the rest`(
        name: String
    ) throws {
        let upstream = try Self.upstream(answering: name)
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<3))
        fixture.options.mode = .drain(deadlineSeconds: 0.2)
        let begun = SystemClock.system.wallMilliseconds()
        let summary = try fixture.drain()
        #expect(summary.isWorkLeft && summary.halt == nil && summary.counts.total == 0)
        #expect(upstream.requests.count == 1)
        let until = try #require(GateFile(in: fixture.spool).current()?.closedUntilMilliseconds)
        #expect((begun + 1990...begun + 12_000).contains(until))
        #expect(try fixture.quarantined().isEmpty && fixture.readyNames.count == 1)
        // The next run asks the gate before it asks the destination.
        try fixture.drain()
        #expect(upstream.requests.count == 1)
        let destination = try #require(GateFile(in: fixture.spool).current()?.destination)
        try GateFile(in: fixture.spool).update(destination: destination) { $0.closedUntilMilliseconds = 0 }
        #expect(try fixture.drain().counts.delivered == 3)
        #expect(fixture.server.requests[0].body == fixture.server.requests[1].body)
    }

    @Test(arguments: halted)
    func `a fault of the configuration stops everything, loses nothing, and the next run goes on`(name: String) throws {
        let upstream = try Self.upstream(answering: name)
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<3))
        let summary = try fixture.drain()
        #expect(summary.halt != nil && summary.isWorkLeft && summary.counts.total == 0)
        #expect(upstream.requests.count == 1)
        #expect(fixture.log.messages.count { $0.hasPrefix("Delivery halted") } == 1)
        #expect(try fixture.quarantined().isEmpty && fixture.readyNames.count == 1)
        #expect(try fixture.drain().counts.delivered == 3)
        #expect(fixture.server.requests[0].body == fixture.server.requests[1].body)
    }

    @Test(arguments: halved)
    func `a refusal is asked again in halves, and no index in it points at a record`(name: String) throws {
        let upstream = try Self.upstream(answering: name)
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<3))
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 3 && summary.halt == nil)
        #expect(upstream.requests.map(\.ids.count).sorted() == [1, 2, 3])
        #expect(upstream.taken.sorted() == ["evt_0", "evt_1", "evt_2"])
        #expect(try fixture.quarantined().isEmpty)
    }
}

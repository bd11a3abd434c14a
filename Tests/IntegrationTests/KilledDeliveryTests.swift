// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// Relays that are killed at a moment which the destination chooses.
struct KilledDeliveryTests {
    private let sample: SampleSpool
    private static let oneAtATime = ["SLUICE_RELAY_MAX_IN_FLIGHT": "1"]

    init() throws { sample = try SampleSpool() }

    /// Kills a relay while the destination is silent about request `number`.
    private func killRelay(at number: Int, _ upstream: Upstream, _ server: ScriptedServer) throws {
        let relay = try RelayProgram.run(sample.path, to: server.url, settings: Self.oneAtATime)
        #expect(relay.wait(seconds: 20) { upstream.requests.count == number + 1 })
        // What was answered is written down before more is sent.
        relay.kill()
    }

    /// Case C66.
    @Test func `after a kill between two chunks only the one in flight is sent again`() throws {
        let upstream = Upstream { _, number in number == 2 ? .stall : nil }
        let server = upstream.server()
        defer { server.stop() }
        try sample.fill(101)
        try killRelay(at: 2, upstream, server)
        #expect(try RelayProgram.drain(sample.path, to: server.url, settings: Self.oneAtATime).code == 0)
        #expect(Set(upstream.taken).count == 101 && upstream.taken.count == 101)
        let requests = upstream.requests.map(\.ids)
        #expect(requests.count == 4 && requests[3].sorted() == requests[2].sorted())
        try expectBalanced(sample.path)
    }

    /// Case C53.
    @Test(arguments: [3, 6, 9])
    func `after a kill in the middle of the search the poison record alone is set aside`(moment: Int) throws {
        let upstream = Upstream { request, number in
            if number == moment { return .stall }
            return request.ids.contains("evt-17") ? .status(400, body: "no") : nil
        }
        let server = upstream.server()
        defer { server.stop() }
        // A destination that has never taken anything would only be waited for.
        try sample.seal([["first"]])
        try sample.fill(50, firstSequence: 1)
        try killRelay(at: moment, upstream, server)
        #expect(try RelayProgram.drain(sample.path, to: server.url, settings: Self.oneAtATime).code == 0)
        let wanted = Set((0..<50).filter { $0 != 17 }.map { "evt-\($0)" } + ["first"])
        #expect(Set(upstream.taken) == wanted && upstream.taken.count == wanted.count)
        let shown = try RelayProgram.command("quarantine", "show", "--json", spool: sample.path).lines
        #expect(shown.count == 1 && shown.first?.contains(#""event_id":"evt-17""#) == true)
        #expect(shown.first?.contains(#""status":400"#) == true)
        #expect(upstream.requests.count <= 2 * 14 + 3)
        try expectBalanced(sample.path)
    }
}

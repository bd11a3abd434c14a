// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Records of persons who are to be forgotten, at every place where a relay may hold them.
struct ErasingTests {
    private static let until = 1_796_000_010

    private static func record(
        _ id: String,
        trusted: String = "{}",
        anonymous: String = "a",
        receivedAt: Int = until,
        event: String = "screen_view"
    ) -> String {
        #"{"received_at":\#(receivedAt),"collection":"c","timestamp":1796000000,"trusted":\#(trusted),"envelope":"#
            + #"{"event":"\#(event)","event_id":"\#(id)","occurred_at":1796000000,"anonymous_id":"\#(anonymous)","#
            + #""properties":{"text":"a \"quoted\" word \\ and \u0001"}}}"#
    }

    private static func erase(_ persons: [Person], in spool: SpoolFolder, until: Int = until) throws(SpoolError) {
        try ErasureList(in: spool).add(persons, until: until)
    }

    /// What is wrong with the books, or what they say was erased.
    private func erased(_ fixture: RelayFixture) throws -> Int {
        let status = try SpoolStatus.read(fixture.spool)
        #expect(status.problems == [])
        return status.counts.erased
    }

    @Test func `records of listed persons are dropped, others and later ones are sent`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        try fixture.seal([
            Self.record("proven", trusted: #"{"user_id":"u-1","account_id":"acc"}"#),
            Self.record("claimed", trusted: #"{"claimed_user_id":"u-1"}"#),
            Self.record("device", anonymous: "dev-1"),
            Self.record("escaped", trusted: #"{"user_id":"\u0075-1"}"#),
            Self.record("later", trusted: #"{"user_id":"u-1"}"#, receivedAt: Self.until + 1),
            Self.record("other user", trusted: #"{"user_id":"u-2"}"#),
            Self.record("customer", trusted: #"{"user_id":"u-3","account_id":"u-1"}"#),
            Self.record("other kind", trusted: #"{"user_id":"dev-1"}"#, anonymous: "u-1"),
            Self.record("longer", trusted: #"{"user_id":"u-12"}"#),
        ])
        try Self.erase([Person(.user, "u-1"), Person(.anonymous, "dev-1")], in: fixture.spool)
        let summary = try fixture.drain()
        #expect(summary.counts.erased == 4)
        #expect(summary.counts.delivered == 5)
        #expect(Set(upstream.taken) == ["later", "other user", "customer", "other kind", "longer"])
        #expect(try erased(fixture) == 4)
        let log = "\(fixture.log.entries)"
        #expect(log.contains("List of erased persons read") && !log.contains("u-1") && !log.contains("dev-1"))
    }

    @Test func `records that are read when the list grows are dropped before they are sent again`() throws {
        let folder = TemporaryFolder()
        let root = folder.path
        let upstream = Upstream { _, number in
            guard number == 0 else { return nil }
            do throws(SpoolError) {
                let spool = try SpoolFolder.open("\(root)/spool", role: .relay)
                try Self.erase([Person(.user, "u-1")], in: spool)
            } catch {
                Issue.record(error)
            }
            return .status(503)
        }
        let fixture = try RelayFixture(upstream, root: root)
        try fixture.seal(
            (0..<200).map { Self.record("e\($0)", trusted: #"{"user_id":"u-\#($0 % 2)"}"#) }
        )
        let summary = try fixture.drain()
        #expect(summary.counts.total == 200)
        // Requests that were under way then may arrive; nothing that was sent later does.
        let late = upstream.takenRequests.dropFirst(16).flatMap(\.events)
        #expect(late.allSatisfy { !$0.contains(#""user_id":"u-1""#) })
        let arrived = upstream.takenEvents.count { $0.contains(#""user_id":"u-1""#) }
        #expect(summary.counts.erased == 100 - arrived)
        #expect(summary.counts.erased >= 1)
        #expect(upstream.takenEvents.count { $0.contains(#""user_id":"u-0""#) } == 100)
        #expect(try erased(fixture) == summary.counts.erased)
    }

    @Test func `a refused record of a person who was listed meanwhile does not go to quarantine`() throws {
        let folder = TemporaryFolder()
        let root = folder.path
        let upstream = Upstream { request, _ in
            guard request.ids.contains("bad") else { return nil }
            do throws(SpoolError) {
                let spool = try SpoolFolder.open("\(root)/spool", role: .relay)
                if request.ids.count == 1 { try Self.erase([Person(.anonymous, "x")], in: spool) }
            } catch {
                Issue.record(error)
            }
            return .status(400, body: "no")
        }
        let fixture = try RelayFixture(upstream, root: root)
        try fixture.seal((0..<9).map { Self.record("e\($0)") } + [Self.record("bad", anonymous: "x")])
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 9)
        #expect(summary.counts.erased == 1)
        #expect(try fixture.quarantined().isEmpty)
        #expect(try erased(fixture) == 1)
    }

    @Test func `what went to quarantine before is taken out when its segment is finished`() throws {
        let folder = TemporaryFolder()
        let root = folder.path
        let upstream = Upstream { request, _ in
            if request.ids == ["last"] {
                do throws(SpoolError) {
                    let spool = try SpoolFolder.open("\(root)/spool", role: .relay)
                    try Self.erase([Person(.anonymous, "x")], in: spool)
                } catch {
                    Issue.record(error)
                }
                return nil
            }
            return request.ids.contains("bad") || request.ids.contains("worse") ? .status(400, body: "no") : nil
        }
        let fixture = try RelayFixture(upstream, root: root)
        fixture.options.maximumInFlight = 1
        // Its events are of another second, so they go out in a request of their own.
        let last = Self.record("last").replacing(#""timestamp":1796000000"#, with: #""timestamp":1796000001"#)
        try fixture.seal(
            (0..<9).map { Self.record("e\($0)") } + [Self.record("bad", anonymous: "x"), Self.record("worse"), last]
        )
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 10)
        #expect(try fixture.quarantined().map(\.id) == ["worse"])
        #expect(try erased(fixture) == 1)
        let list = ErasureList(in: fixture.spool)
        try list.refresh()
        #expect(list.book.isSwept)
    }

    @Test func `a start finishes what an erasure could not reach`() throws {
        let upstream = Upstream { request, _ in request.ids.contains("bad") ? .status(400, body: "no") : nil }
        let fixture = try RelayFixture(upstream)
        try fixture.seal((0..<9).map { Self.record("e\($0)") } + [Self.record("bad", anonymous: "x")])
        #expect(try fixture.drain().counts.quarantined == 1)
        try Self.erase([Person(.anonymous, "x")], in: fixture.spool)
        #expect(try fixture.drain().counts.total == 0)
        #expect(try fixture.quarantined().isEmpty)
        #expect(try erased(fixture) == 1)
        #expect(try fixture.drain().counts.total == 0)
        #expect(try erased(fixture) == 1)
    }

    @Test func `repeats that wait for an erased record are erased too`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        let line = Self.record("same", trusted: #"{"user_id":"u-1"}"#)
        try fixture.seal([line, line, Self.record("other"), line])
        try fixture.seal([line])
        try Self.erase([Person(.user, "u-1")], in: fixture.spool)
        let summary = try fixture.drain()
        #expect(summary.counts.erased == 4)
        #expect(upstream.taken == ["other"])
        #expect(try erased(fixture) == 4)
    }

    @Test func `a record that is replayed after the erasure is dropped all the same`() throws {
        let upstream = Upstream { request, number in
            number < 20 && request.ids.contains("bad") ? .status(400, body: "no") : nil
        }
        let fixture = try RelayFixture(upstream)
        try fixture.seal((0..<9).map { Self.record("e\($0)") } + [Self.record("bad", anonymous: "x")])
        #expect(try fixture.drain().counts.quarantined == 1)
        let editor = QuarantineEditor(in: fixture.spool, ledger: try Ledger(in: fixture.spool))
        #expect(try editor.run(.replay) { (_, _) throws(SpoolError) in .take }.taken == 1)
        try Self.erase([Person(.anonymous, "x")], in: fixture.spool)
        #expect(try fixture.drain().counts.erased == 1)
        #expect(try erased(fixture) == 1)
    }

    @Test func `with a list that does not verify nothing is sent`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<10))
        try Self.erase([Person(.user, "u-1")], in: fixture.spool)
        var bytes = try FileSystem.contents(of: fixture.spool.erased, limit: 1 << 20)
        bytes[bytes.count / 2] ^= 4
        let file = try File(opening: fixture.spool.erased, O_WRONLY | O_TRUNC)
        try bytes.withUnsafeBytes { try file.write($0) }
        #expect(throws: SpoolError.self) { try fixture.drain() }
        #expect(upstream.requests.isEmpty)
        #expect(try SpoolStatus.read(fixture.spool).pending == 10)
    }
}

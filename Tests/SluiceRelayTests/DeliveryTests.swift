// SPDX-License-Identifier: Apache-2.0
import SluiceGraphJSON
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// A relay in this process against answers of every kind; the spool is real.
struct DeliveryTests {
    /// Case C66.
    @Test(arguments: [0, 1, 49, 50, 51, 100, 101])
    func `every event arrives once, never more than fifty in a request`(count: Int) throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<count))
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == count)
        #expect(!summary.isWorkLeft)
        #expect(upstream.taken.sorted() == (0..<count).map { "evt_\($0)" }.sorted())
        #expect(upstream.requests.allSatisfy { $0.ids.count <= 50 })
        #expect(upstream.requests.count == (count + 49) / 50)
        #expect(fixture.readyNames.isEmpty)
    }

    @Test func `events share a request only with the same collection and timestamp, over all segments`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        for segment in 0..<5 {
            try fixture.seal(
                (0..<40).map { RelayFixture.record("\(segment)-\($0)", timestamp: 1_796_000_000 + $0 % 4) }
            )
        }
        #expect(try fixture.drain().counts.delivered == 200)
        #expect(upstream.requests.count == 4)
        for request in upstream.takenRequests {
            let wanted = #""occurred_at":\#(request.timestamp),"#
            #expect(request.events.allSatisfy { $0.contains(wanted) })
        }
    }

    @Test func `a record that is in quarantine is not sent, whatever became of the claim that put it there`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        let segment = try fixture.seal(RelayFixture.records(0..<3))
        // A relay is killed between the sync of quarantine and its note; the claim is given back, or was never durable.
        let claim = try #require(try Worker.start(in: fixture.spool).claimNext())
        let writer = try QuarantineWriter(for: segment, in: fixture.spool, readsExisting: false)
        let place = RecordOrigin(segment: segment, frame: try firstFrame(of: claim.path), index: 1)
        let entry = QuarantineEntry(quarantinedAt: 1, reason: "upstream_rejected", detail: "", origin: place)
        var line = RelayFixture.record("evt_1")
        line.withUTF8 { _ = writer.append(entry, record: UnsafeRawBufferPointer($0)) }
        try writer.sync()
        try FileSystem.move(claim.path, to: fixture.spool.ready(segment))
        try fixture.drain()
        #expect(upstream.taken.sorted() == ["evt_0", "evt_2"])
        #expect(try fixture.quarantined().map(\.id) == ["evt_1"])
        #expect(try SpoolStatus.read(fixture.spool).problems == [])
    }

    private func firstFrame(of path: String) throws -> Int {
        var buffer = ByteBuffer()
        guard case .frame(let offset, _, _) = try SegmentReader(opening: path).next(into: &buffer) else { return -1 }
        return offset
    }

    /// Case C53.
    @Test(arguments: [[0], [24], [49], [3, 30], [0, 49]])
    func `one poison record costs its chunk nothing but itself`(poison: [Int]) throws {
        let ids = Set(poison.map { "evt_\($0)" })
        let upstream = Upstream { request, _ in
            ids.isDisjoint(with: request.ids) ? nil : .status(400, body: "bad <time> \(request.ids.count)")
        }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<50))
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 50 - poison.count)
        #expect(Set(upstream.taken) == Set((0..<50).map { "evt_\($0)" }).subtracting(ids))
        #expect(upstream.taken.count == 50 - poison.count)
        if poison.count == 1 { #expect(upstream.requests.count <= 14) }
        let quarantined = try fixture.quarantined()
        #expect(Set(quarantined.map(\.id)) == ids)
        #expect(quarantined.allSatisfy { $0.reason == "upstream_rejected" && $0.line.contains(#""status":400"#) })
        #expect(quarantined.allSatisfy { $0.line.contains("bad &lt;time&gt;") || $0.line.contains("bad ") })
    }

    @Test func `when everything is refused nothing goes to quarantine and the relay says so`() throws {
        let upstream = Upstream { _, _ in .status(400, body: "no") }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<300))
        let summary = try fixture.drain()
        #expect(summary.halt != nil)
        #expect(summary.isWorkLeft)
        #expect(try fixture.quarantined().isEmpty)
        #expect(fixture.readyNames.count == 1)
    }

    @Test func `a destination that took records before loses at most the window when it refuses everything`() throws {
        let upstream = Upstream { request, _ in request.ids.contains("evt_0") ? nil : .status(422, body: "no") }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<1))
        try fixture.drain()
        try fixture.seal(RelayFixture.records(1..<1000))
        let summary = try fixture.drain()
        #expect(summary.halt != nil)
        #expect(try fixture.quarantined().count <= 200)
        #expect(summary.counts.delivered == 0)
    }

    /// Case C59.
    @Test func `a record that is too large alone is set aside, the others pass in smaller requests`() throws {
        let upstream = Upstream { request, _ in
            request.events.reduce(0) { $0 + $1.utf8.count } > 4000 ? .status(413, body: "") : nil
        }
        let fixture = try RelayFixture(upstream)
        let large = RelayFixture.record("large", properties: #"{"text":"\#(String(repeating: "x", count: 5000))"}"#)
        try fixture.seal(RelayFixture.records(0..<49) + [large])
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 49)
        #expect(try fixture.quarantined().map(\.reason) == ["payload_too_large"])
    }

    /// Case C58.
    @Test(arguments: [408, 425, 429, 500, 502, 503, 504, 520])
    func `an answer that may pass is tried again until it does`(status: Int) throws {
        let upstream = Upstream { _, number in number < 3 ? .status(status, body: "<html>busy</html>") : nil }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<50))
        #expect(try fixture.drain().counts.delivered == 50)
        #expect(upstream.requests.count == 4)
        #expect(try fixture.quarantined().isEmpty)
    }

    /// Case C57.
    @Test(arguments: [301, 307, 401, 403, 404, 405, 407, 410, 415])
    func `an answer that no retry cures halts, keeps everything, and a new drain goes on`(status: Int) throws {
        let upstream = Upstream { _, number in number < 1 ? .status(status, body: "no") : nil }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<50))
        let first = try fixture.drain()
        #expect(first.halt != nil)
        #expect(first.counts.total == 0)
        #expect(try fixture.quarantined().isEmpty)
        #expect(try fixture.drain().counts.delivered == 50)
    }

    @Test func `a running relay probes through a halt and goes on by itself`() async throws {
        let upstream = Upstream { _, number in number < 4 ? .status(401, body: "no") : nil }
        let fixture = try RelayFixture(upstream)
        fixture.options.mode = .run
        fixture.options.lingerSeconds = 0.01
        try fixture.seal(RelayFixture.records(0..<200))
        let control = RelayControl()
        let relay = try fixture.relay(control)
        relay.onProgress = { if $0 == 200 { control.stop() } }
        #expect(try relay.run().counts.delivered == 200)
        #expect(upstream.requests.count <= 4 + 4 + 4)
    }

    /// Case C60.
    @Test(arguments: ["2", "date"])
    func `a pause that is asked for is kept, by the next drain too`(form: String) throws {
        let begun = SystemClock.system.wallSeconds
        let value = form == "date" ? HTTPDate.text(begun + 2) : form
        let upstream = Upstream { _, number in
            number == 0 ? .status(429, headers: ["retry-after: \(value)"], body: "") : nil
        }
        let fixture = try RelayFixture(upstream)
        fixture.options.mode = .drain(deadlineSeconds: 0.3)
        try fixture.seal(RelayFixture.records(0..<50))
        let first = try fixture.drain()
        #expect(first.counts.delivered == 0)
        #expect(first.isWorkLeft)
        let before = upstream.requests.count
        #expect(try fixture.drain().counts.delivered == 0)
        #expect(upstream.requests.count == before)
        fixture.options.mode = .drain(deadlineSeconds: 20)
        #expect(try fixture.drain().counts.delivered == 50)
        let times = upstream.requests.map(\.arrivedAt)
        let pause = Double(times[before] - times[0]) / 1e9
        #expect(pause >= (form == "date" ? 0.9 : 1.9))
    }

    /// Case C70.
    @Test func `a record that always fails does not hold up thousands that pass, and ends in quarantine`() throws {
        let upstream = Upstream { request, _ in request.ids.contains("evt_7") ? .status(500, body: "oops") : nil }
        let fixture = try RelayFixture(upstream)
        fixture.options.poisonAfterSeconds = 0.2
        fixture.options.backoff = Backoff(minimumSeconds: 0.01, maximumSeconds: 0.05)
        try fixture.seal(RelayFixture.records(0..<5000))
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 4999)
        #expect(try fixture.quarantined().map(\.reason) == ["upstream_failing"])
        #expect(try fixture.quarantined().map(\.id) == ["evt_7"])
    }

    /// Case C63.
    @Test func `an answer that breaks off is no answer: the same events go out again`() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\""
        let upstream = Upstream { _, number in
            switch number {
            case 0: .answer(Array(head.utf8), closes: true)
            case 1: .reset
            case 2: .close
            default: nil
            }
        }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<10))
        #expect(try fixture.drain().counts.delivered == 10)
        let requests = upstream.requests
        #expect(requests.count == 4)
        #expect(requests.allSatisfy { $0.events == requests[0].events })
    }

    @Test func `an expired record is counted and not sent, one without a time is sent however old`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        let past = #""expires_at":1796000100,"#
        try fixture.seal([
            RelayFixture.record("old"), RelayFixture.record("late", extra: past),
            RelayFixture.record("fresh", extra: #""expires_at":4000000000,"#),
        ])
        let time = ManualClock(wallMilliseconds: 1_796_000_200_000)
        let clock = SystemClock(
            wallMilliseconds: time.clock.wallMilliseconds,
            monotonicNanoseconds: SystemClock.system.monotonicNanoseconds
        )
        let summary = try fixture.drain(clock: clock)
        #expect(summary.counts.expired == 1)
        #expect(upstream.taken.sorted() == ["fresh", "old"])
    }

    @Test func `two events under one id both arrive, the same event twice arrives once`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        let one = RelayFixture.record("same", properties: #"{"n":1}"#)
        try fixture.seal([one, RelayFixture.record("same", properties: #"{"n":2}"#), one])
        let first = try fixture.drain()
        #expect(first.counts.delivered == 2)
        #expect(first.counts.duplicate == 1)
        // And in a later segment, long after.
        try fixture.seal([one])
        #expect(try fixture.drain().counts.duplicate == 1)
        #expect(upstream.taken == ["same", "same"])
    }

    @Test func `a repeat with another sending time is the same event`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        let one = RelayFixture.record("a")
        func sent(_ seconds: Int) -> String {
            one.replacing(#""anonymous_id""#, with: #""client_sent_at":\#(seconds),"anonymous_id""#)
        }
        try fixture.seal([sent(1), sent(2), one])
        let summary = try fixture.drain()
        #expect(summary.counts.delivered == 1)
        #expect(summary.counts.duplicate == 2)
    }

    /// Case C75.
    @Test func `a line that is no record goes to quarantine and its neighbours are sent`() throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        try fixture.seal([
            RelayFixture.record("a"), "not json", "{}", RelayFixture.record("b", properties: #"{"x":{"y":1}}"#),
            RelayFixture.record("c", extra: #""quarantine":{"reason":"unsupported_event","detail":"d"},"#),
            RelayFixture.record("d"),
        ])
        let summary = try fixture.drain()
        #expect(upstream.taken == ["a", "d"])
        #expect(summary.counts.quarantined == 4)
        let reasons = try fixture.quarantined().map(\.reason).sorted()
        #expect(reasons == ["invalid_record", "invalid_record", "invalid_record", "unsupported_event"])
    }

    /// Case C73.
    @Test func `a request in flight at a stop is awaited, the rest goes back`() throws {
        let upstream = Upstream { _, number in
            number == 0
                ? .drip(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8), every: .milliseconds(10)) : nil
        }
        let fixture = try RelayFixture(upstream)
        fixture.options.mode = .run
        fixture.options.maximumInFlight = 1
        try fixture.seal(RelayFixture.records(0..<500))
        let control = RelayControl()
        let relay = try fixture.relay(control)
        relay.onProgress = { _ in if !upstream.requests.isEmpty { control.stop() } }
        let summary = try relay.run()
        #expect(summary.counts.delivered == 50)
        #expect(fixture.readyNames.count == 1)
        fixture.options.mode = .drain(deadlineSeconds: 20)
        #expect(try fixture.drain().counts.delivered == 450)
        #expect(Set(upstream.requests.flatMap(\.ids)).count == 500)
        #expect(upstream.requests.flatMap(\.ids).count == 500)
    }

    @Test func `a reload changes what it may and leaves the form of what is grouped alone`() throws {
        let upstream = Upstream { _, number in number == 0 ? .status(503, body: "") : nil }
        let fixture = try RelayFixture(upstream)
        try fixture.seal(RelayFixture.records(0..<500))
        fixture.options.maximumInFlight = 1
        let control = RelayControl()
        let relay = try fixture.relay(control)
        var other = fixture.options
        other.bulk = .single
        other.target = try GraphJSONTarget(url: "http://127.0.0.1:1")
        other.maximumInFlight = 4
        relay.onProgress = { _ in control.reload(other) }
        #expect(try relay.run().counts.delivered == 500)
        #expect(upstream.takenRequests.allSatisfy { $0.ids.count == 50 })
        #expect(fixture.log.messages.contains { $0.contains("with the next start only") })
    }

    /// Case C74.
    @Test func `no key, identifier or property value is logged`() throws {
        let upstream = Upstream { request, number in
            number % 3 == 0 ? .status(400, body: "secret-body test-key \(request.ids[0])") : nil
        }
        let fixture = try RelayFixture(upstream)
        try fixture.seal((0..<120).map { RelayFixture.record("secret-id-\($0)", properties: #"{"p":"secret-value"}"#) })
        try fixture.drain()
        for entry in fixture.log.entries {
            #expect(!"\(entry)".contains("test-key") && !"\(entry)".contains("secret-"))
        }
        #expect(try fixture.quarantined().allSatisfy { !$0.line.contains("test-key") })
    }
}

enum HTTPDate {
    /// The preferred form of RFC 9110 section 5.6.7.
    static func text(_ seconds: Int) -> String {
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var day = seconds / 86_400
        let weekday = days[day % 7]
        var year = 1970
        func length(_ year: Int) -> Int { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365 }
        while day >= length(year) {
            day -= length(year)
            year += 1
        }
        let lengths = [31, length(year) == 366 ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var month = 0
        while day >= lengths[month] {
            day -= lengths[month]
            month += 1
        }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = seconds % 86_400
        return "\(weekday), \(two(day + 1)) \(months[month]) \(year) "
            + "\(two(time / 3600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceJSON
import SluiceSoak
import SluiceSystem
import SluiceTestSupport
import Testing

struct SoakPlanTests {
    private let plan = SoakPlan(
        seed: 7,
        clients: 3,
        batch: 4,
        eventsPerSecond: 100,
        startSeconds: 1_796_000_000,
        events: 20_000
    )

    @Test func `numbers and ids belong to each other one to one`() {
        for number in [0, 1, 4095, plan.capacity - 1] {
            #expect(Array(plan.id(number).utf8).withUnsafeBytes { plan.number(ofID: $0) } == number)
        }
        for id in ["", "soak-00000007-000000000000x", "soak-00000008-000000000001", plan.id(plan.capacity)] {
            #expect(Array(id.utf8).withUnsafeBytes { plan.number(ofID: $0) } == nil)
        }
    }

    @Test func `the sequences of a session rise by one, batch by batch of its client`() {
        for client in 0..<plan.clients {
            var next = 0
            for round in 0..<plan.roundsPerSession * 2 {
                if round == plan.roundsPerSession { next = 0 }
                let first = plan.firstNumber(client: client, round: round)
                for number in first..<first + plan.batch {
                    #expect(plan.sequence(of: number) == next)
                    #expect(plan.session(of: number) == round / plan.roundsPerSession * plan.clients + client)
                    next += 1
                }
            }
        }
        #expect(plan.session(of: plan.capacity - 1) < plan.sessions)
    }

    @Test func `every event is JSON, posted and expected`() throws {
        let parser = JSONParser(maximumBytes: 1 << 20)
        var buffer = ByteBuffer()
        for number in 0..<5000 {
            buffer.removeAll()
            plan.appendEnvelope(number, to: &buffer)
            _ = try parser.parse(buffer.bytes)
            buffer.removeAll()
            _ = plan.appendExpected(number, to: &buffer)
            _ = try parser.parse(buffer.bytes)
        }
    }
}

struct SoakJudgeTests {
    private let plan = SoakPlan(
        seed: 11,
        clients: 2,
        batch: 10,
        eventsPerSecond: 100,
        startSeconds: 1_796_000_000,
        events: 20_000
    )

    /// An event as it would arrive, with a change made to it.
    private func arrival(
        _ number: Int,
        timestamp: Int? = nil,
        _ change: (inout String) -> Void = { _ in }
    ) throws -> SoakArrival {
        var buffer = ByteBuffer()
        let middle = plan.appendExpected(number, to: &buffer)
        var text = String(decoding: buffer.bytes[..<middle], as: UTF8.self) + ",\"received_at\":1796000001"
        text += String(decoding: buffer.bytes[middle...], as: UTF8.self)
        change(&text)
        buffer.removeAll()
        buffer.append(text)
        let document = try JSONParser(maximumBytes: 1 << 20).parse(buffer.bytes)
        return SoakJudge(plan).judge(document, at: 0, timestamp: timestamp ?? plan.occurredAt(number))
    }

    private func replacing(_ part: String, with other: String) -> (inout String) -> Void {
        { text in
            guard let range = text.firstRange(of: part) else { return }
            text.replaceSubrange(range, with: other)
        }
    }

    @Test func `an event that arrives as it was posted is in order`() throws {
        for number in 0..<3000 { #expect(try arrival(number) == SoakArrival(number: number, fault: nil)) }
    }

    @Test func `other orders and other escapes are the same event`() throws {
        let number = try #require((0..<1000).first { plan.kind(of: $0) == .ordinary })
        let moved = try arrival(number) { text in
            text.removeFirst(1)
            text.removeLast(1)
            let first = text.prefix { $0 != "," }
            text = "{\(text.dropFirst(first.count + 1)),\(first)}"
        }
        #expect(moved.fault == nil)
        #expect(try arrival(number, replacing("4.8.0", with: #"4\u002e8.0"#)).fault == nil)
        #expect(
            try arrival(number, replacing(",\"received_at\":", with: ",\"client_sent_at\":9,\"received_at\":")).fault
                == nil
        )
    }

    @Test(
        arguments: [
            ("\"sequence\":", "\"sequence\":1"), ("4.8.0", "4.8.1"), ("\"digest\":\"", "\"digest\":\"0"),
            ("\"schema_version\":1", "\"schema_version\":1.0"), ("\"received_at\":1796000001", "\"received_at\":\"x\""),
            (",\"received_at\":1796000001", ""), ("\"build_number\":\"842\",", ""), ("{", "{\"more\":1,"),
            ("\"ses-", "\"ses-0"), ("\"contract_version\":\"soak-1\"", "\"contract_version\":\"soak-2\""),
        ]
    )
    func `any change is seen`(part: String, other: String) throws {
        for number in 0..<50 {
            #expect(try arrival(number, replacing(part, with: other)).fault == .content, "\(part) in event \(number)")
        }
    }

    @Test func `a time that was not corrected must be the event's own`() throws {
        #expect(try arrival(4, timestamp: plan.occurredAt(4) + 1).fault == .timestamp)
        let corrected = replacing(
            "\"received_at\":1796000001",
            with: "\"received_at\":1796000001,\"timestamp_corrected\":true"
        )
        #expect(try arrival(4, timestamp: plan.occurredAt(4) + 1, corrected).fault == nil)
    }

    @Test func `an event of somebody else is foreign`() throws {
        #expect(try arrival(4, replacing("soak-", with: "beat-")) == SoakArrival(number: nil, fault: .foreign))
    }
}

struct SoakRecordTests {
    @Test func `a record tells what arrived, how often and in which order, also when it is opened again`() throws {
        let folder = TemporaryFolder()
        let plan = SoakPlan(seed: 3, clients: 2, batch: 2, eventsPerSecond: 10, startSeconds: 1, events: 100)
        let record = try SoakRecord(creating: folder.path("record"), plan: plan)
        record.fault = UpstreamFault(.tooMany, 3)
        let other = try SoakRecord(opening: folder.path("record"))
        #expect(other.plan == plan)
        #expect(other.fault == UpstreamFault(.tooMany, 3))
        // Sequences 0 and 1, then 3, then 2 of one session; 0 once more.
        for number in [0, 1, 5, 4, 0] { other.note([SoakArrival(number: number, fault: nil)]) }
        other.note([SoakArrival(number: 7, fault: .content), SoakArrival(number: nil, fault: .foreign)])
        #expect([0, 1, 4, 5, 7, 2].map { record.deliveries(of: $0) } == [2, 1, 1, 1, 1, 0])
        #expect(record[.arrivals] == 7)
        #expect(record[.reordered] == 1)
        #expect(record[.altered] == 2)
        #expect(record.examples.map(\.number) == [7, nil])
    }

    @Test func `what is no record is refused`() throws {
        let folder = TemporaryFolder()
        try folder.write("{}", to: "record")
        #expect(throws: SystemError.self) { try SoakRecord(opening: folder.path("record")) }
    }
}

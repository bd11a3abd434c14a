// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceGraphJSON
internal import SluiceJSON
internal import SluiceRelay
internal import SluiceSpool
internal import SluiceSystem

/// A line of a segment is a record or is refused; a record gives a flat event that says the same, in every form of
/// request, and judged again it is a record that would be judged the same once more.
final class RecordFuzz {
    private static let key = "key \"quoted\" \\ and \u{E9}"

    private let rules: FuzzRules
    private let parser = JSONParser(maximumBytes: 1 << 16)
    private let second = JSONParser(maximumBytes: 1 << 20)
    private var judge = EventJudge()

    init() throws { rules = try FuzzRules() }

    func check(_ input: UnsafeRawBufferPointer) throws {
        let line = ByteBuffer(copying: input)
        guard let document = try? parser.parse(line.bytes), let record = try? SpooledRecord(document) else {
            return  // refused
        }
        // As the relay knows a record by where it first stood.
        if let origin = record.origin, let segment = SegmentName(parsing: origin.segment) {
            _ = RecordOrigin(segment: segment, frame: origin.frame, index: origin.index).fingerprint
        }
        for precision in [1, 3600] { try checkEvent(record, precision: precision) }
        for contract in [rules.strict, rules.lenient] { try checkReplay(record, contract) }
    }

    // MARK: - The event

    private func checkEvent(_ record: SpooledRecord, precision: Int) throws {
        var text = ByteBuffer()
        text.append("before")
        do throws(TransformError) {
            try EventTransform(timestampPrecision: precision).append(record, to: &text)
        } catch {
            try hold(text.bytes.asText == "before", "a record that was refused left something")
            return
        }
        let event = text.bytes.from(6)
        for shape in BulkShape.allCases { try checkRequest(record, event, shape) }
    }

    private func checkRequest(_ record: SpooledRecord, _ event: UnsafeRawBufferPointer, _ shape: BulkShape) throws {
        let document = record.document
        let encoder = RequestEncoder(shape: shape, apiKey: Self.key)
        let events = [UnsafeRawBufferPointer](repeating: event, count: min(2, shape.maximumEvents))
        let timestamps = [Int](repeating: record.timestamp, count: events.count)
        let collection = document.text(document[record.collection])
        var body = ByteBuffer()
        events.withUnsafeBufferPointer { events in
            timestamps.withUnsafeBufferPointer { timestamps in
                encoder.encode(collection: collection, timestamps: timestamps, events: events, into: &body)
            }
        }
        let limit = encoder.byteCountLimit(
            collectionBytes: collection.count,
            eventCount: events.count,
            textBytes: event.count * events.count
        )
        try hold(body.count <= limit, "a request of \(body.count) bytes where \(limit) is the limit")
        let plain = try need(PlainJSON(body.bytes), "a request that is no JSON")
        try hold(!plain.hasTwins, "a request with twins")
        try hold(plain["api_key"] == .string(Array(Self.key.utf8)), "the request's key")
        try hold(plain["collection"] == .string(Array(collection)), "the request's collection")
        let sent = try need(
            shape == .single ? plain["json"]?.text.map { [$0] } : plain["jsons"]?.elements?.compactMap(\.text),
            "a request without events"
        )
        try hold(sent.count == events.count, "the request's number of events")
        let times = shape == .timestamps ? plain["timestamps"]?.elements?.map(\.integer) : [plain["timestamp"]?.integer]
        try hold(times == (shape == .timestamps ? timestamps : [record.timestamp]), "the request's time")
        for text in sent { try checkFlat(record, text) }
    }

    private func checkFlat(_ record: SpooledRecord, _ text: [UInt8]) throws {
        let document = record.document
        let event = try need(PlainJSON(text), "\(String(decoding: text, as: UTF8.self)) is no JSON")
        let members = try need(event.members, "an event that is no object")
        try hold(!event.hasTwins, "an event with twins: \(String(decoding: text, as: UTF8.self))")
        try hold(members.allSatisfy(\.value.isScalar), "an event that is not flat")
        try hold(event["event_id"]?.text == Array(document.text(document[record.eventID])), "another event's id")
        try hold(event["event"]?.text == Array(document.text(document[record.event])), "another event's name")
        try hold(event["received_at"]?.integer == record.receivedAt, "the event's time of receipt")
        let source = try need(PlainJSON(document.source), "a record that is no JSON")
        for (name, prefix) in [("properties", ""), ("experiments", "experiment_")] {
            for member in source["envelope"]?[name]?.members ?? [] {
                let key = Array(prefix.utf8) + member.key
                let sent = members.first { $0.key == key }?.value
                try hold(sent == member.value, "\(String(decoding: key, as: UTF8.self)) says something else")
            }
        }
    }

    // MARK: - Replay

    private func checkReplay(_ record: SpooledRecord, _ contract: Contract) throws {
        let place = SpooledRecord.Origin(segment: "s", frame: 8, index: 1)
        var line = ByteBuffer()
        guard case .replayed = judge.rejudge(record, from: place, by: contract, records: &line) else {
            try hold(line.isEmpty, "a record that stays was written")
            return
        }
        try hold(line.bytes.last == 0x0A && line.bytes.count { $0 == 0x0A } == 1, "a replay is one line")
        let plain = try need(PlainJSON(line.bytes), "a replay is no JSON")
        let again = try SpooledRecord(second.parse(line.bytes))
        try hold(again.replays == record.replays + 1, "the number of replays")
        try hold(again.origin == record.origin ?? place, "the replay's origin")
        try hold(again.receivedAt == record.receivedAt, "the replay's time of receipt")
        try hold(!again.isQuarantined, "a replay that is set aside")
        try hold(plain["envelope"]?.hasTwins == false, "a replay with twins")
        var third = ByteBuffer()
        guard case .replayed(let removed) = judge.rejudge(again, from: place, by: contract, records: &third) else {
            throw FuzzFinding("what was replayed once stays the second time")
        }
        try hold(removed.isEmpty, "the second replay removes \(removed)")
        let last = try need(PlainJSON(third.bytes), "the second replay is no JSON")
        try hold(last["envelope"] == plain["envelope"], "the second replay has another envelope")
        try hold(last["timestamp"] == plain["timestamp"], "the second replay has another time")
    }
}

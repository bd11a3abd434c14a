// SPDX-License-Identifier: Apache-2.0
internal import SluiceEndpoint
internal import SluiceEvents
internal import SluiceJSON
internal import SluiceSystem

/// Whatever comes in, each event gets one verdict, and what is taken is a canonical record.
///
/// * An event gets the same verdict alone, in its batch, and beside a neighbour that cannot be parsed.
/// * The record of an event that was taken is JSON without twins, and its envelope is accepted again, unchanged.
/// * The answer is JSON and names what was taken.
final class BodyFuzz {
    private static let maximumInflatedBytes = 32 << 10

    private let rules: FuzzRules
    private var judge = BodyJudge()
    private let parser = JSONParser(maximumBytes: 1 << 20)
    private let records = JSONParser(maximumBytes: 1 << 20)
    private var inflater = Inflater()

    init() throws { rules = try FuzzRules() }

    func check(_ input: UnsafeRawBufferPointer) throws {
        guard input.starts(with: [0x1F, 0x8B]) else { return try checkBody(input) }
        var inflated = ByteBuffer()
        var asked = 0
        let source = ByteBuffer(copying: input)
        do throws(InflateFault) {
            try inflater.inflate(
                source.bytes,
                maximumBytes: Self.maximumInflatedBytes,
                maximumRatio: 100,
                into: &inflated
            ) {
                asked += $0
                return asked <= 1 << 20
            }
        } catch {
            try hold(inflated.count <= Self.maximumInflatedBytes + 16 << 10, "inflated beyond its bounds")
            return
        }
        try hold(inflated.count <= Self.maximumInflatedBytes, "more than a body may have")
        try hold(inflated.count <= asked, "memory that nobody asked for")
        try checkBody(inflated.bytes)
    }

    private func checkBody(_ body: UnsafeRawBufferPointer) throws {
        try check(body, rules.phone, rules.strict)
        try check(body, rules.server, rules.lenient)
    }

    func check(_ body: UnsafeRawBufferPointer, _ admission: Admission, _ contract: Contract) throws {
        let judged = try judge.body(body, admission, contract)
        try checkAnswer(judged)
        for (record, event) in zip(judged.records, judged.events.filter { $0.outcome != .rejected }) {
            try checkRecord(record, event, admission, contract)
        }
        let text = ByteBuffer(copying: body)
        guard let document = try? parser.parse(text.bytes) else { return }  // then nothing is known of it
        guard judged.refusal == nil else { return }
        let list = try need(document.value(of: "events", in: 0), "taken without events")
        let elements = Array(document.elements(of: list))
        try hold(elements.count == judged.events.count, "\(elements.count) events, \(judged.events.count) verdicts")
        try checkNeighbour(document, list, judged, admission, contract)
        // What the batch says of itself holds for an event only inside it.
        guard document.value(of: "client_sent_at", in: 0) == nil else { return }
        for (element, event) in zip(elements, judged.events) {
            try checkAlone(document, element, event, admission, contract)
        }
    }

    // MARK: - Isolation

    private func checkAlone(
        _ document: JSONDocument,
        _ element: Int,
        _ event: JudgedBody.Event,
        _ admission: Admission,
        _ contract: Contract
    ) throws {
        // A line that looks like a batch is judged as one.
        if document.value(of: "events", in: element) != nil || !document[element].isContainer { return }
        let alone = try judge.line(document.raw(document[element]), admission, contract)
        try hold(alone.events == [event], "\(event) in its batch, alone \(alone.events)")
    }

    /// A neighbour whose value cannot be parsed costs nobody else anything.
    private func checkNeighbour(
        _ document: JSONDocument,
        _ list: Int,
        _ judged: JudgedBody,
        _ admission: Admission,
        _ contract: Contract
    ) throws {
        let key = document[list - 1]
        let events = document.members(of: 0).filter { document.text(document[$0.key], equals: "events") }
        guard events.count == 1, !key.hasEscapes, judged.events.count < 100 else { return }
        let end = Int(document[list].start) + Int(document[list].length) - 1
        let fault = judged.events.isEmpty ? #"{"n":1e999}"# : #",{"n":1e999}"#
        var body = Array(document.source[..<end])
        body += Array(fault.utf8)
        body += document.source[end...]
        let beside = try body.withUnsafeBytes { try judge.body($0, admission, contract) }
        try hold(beside.refusal == nil, "a neighbour's value refused the batch: \(String(describing: beside.refusal))")
        try hold(beside.events.dropLast().elementsEqual(judged.events), "a neighbour's value changed a verdict")
        try hold(beside.events.last?.code == .invalidJSON, "a value that cannot be parsed was taken")
        try hold(beside.records == judged.records, "a neighbour's value changed a record")
    }

    // MARK: - What comes out

    private func checkAnswer(_ judged: JudgedBody) throws {
        let answer = try need(PlainJSON(judged.answer), "the answer is no JSON")
        try hold(!answer.hasTwins, "the answer has twins")
        guard let refusal = judged.refusal else {
            let taken = judged.events.filter { $0.outcome != .rejected }.map { PlainJSON.string($0.id) }
            try hold(answer["accepted"] == .array(taken), "the answer's accepted ids")
            let rejected = judged.events.indices.filter { judged.events[$0].outcome == .rejected }
            let indexes = answer["rejected"]?.elements?.map { $0["index"]?.integer }
            try hold(indexes == rejected.map { $0 }, "the answer's rejected indexes")
            return
        }
        try hold(answer["code"]?.text == Array(refusal.code.rawValue.utf8), "the refusal's code")
        try hold([400, 413, 503].contains(refusal.status), "a refusal of status \(refusal.status)")
    }

    private func checkRecord(
        _ line: [UInt8],
        _ event: JudgedBody.Event,
        _ admission: Admission,
        _ contract: Contract
    ) throws {
        let plain = try need(PlainJSON(line), "a record is no JSON")
        try hold(!plain.hasTwins, "a record has twins")
        let text = ByteBuffer(copying: line)
        let record = try SpooledRecord(records.parse(text.bytes))
        let document = record.document
        try hold(document.text(document[record.eventID]).elementsEqual(event.id), "the record is another event's")
        try hold(record.receivedAt == admission.receivedAt, "the record's time of receipt")
        try hold(record.isQuarantined == (event.outcome == .quarantined), "whether the record is set aside")
        try hold(record.isTimestampCorrected == event.isClamped, "whether the record's time is corrected")
        try hold(plain["envelope"]?["user_id"] == nil, "the envelope names a user")
        // The envelope as a batch of its own, with what the batch said of itself.
        var body = Array(#"{"events":["#.utf8) + document.raw(document[record.envelope]) + Array("]".utf8)
        if let sentAt = record.clientSentAt { body += Array(",\"client_sent_at\":\(sentAt)".utf8) }
        body += Array("}".utf8)
        let again = try body.withUnsafeBytes { try judge.line($0, admission, contract) }
        var expected = event
        expected.removed = []
        try hold(again.events == [expected], "\(expected) is judged \(again.events) the second time")
        let second = try need(PlainJSON(again.records[0]), "the second record is no JSON")
        for member in plain.members ?? [] where !member.key.elementsEqual("trusted".utf8) {
            let name = String(decoding: member.key, as: UTF8.self)
            try hold(second[name] == member.value, "\(name) is another the second time")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceSystem
import Testing

/// What concerns a body as a whole.
struct BatchTests {
    private let contract: Contract

    init() throws { contract = try Inputs.contract() }

    private func judge(_ text: String, limits: EventLimits = EventLimits()) -> Judged {
        Judged(Array(text.utf8), by: contract, limits: limits)
    }

    @Test(arguments: [
        (#"{"events":[],"api_key":1}"#, BatchRefusal.Code.forbiddenField),
        (#"{"collection":"c","events":[]}"#, .forbiddenField), (#"{"token":null,"events":[]}"#, .forbiddenField),
        (#"{"events":[],"events":[]}"#, .duplicateKey),
        (#"{"events":[],"client_sent_at":1,"client_sent_at":1}"#, .duplicateKey),
        (#"{"events":[],"client_sent_at":1.5}"#, .invalidClientSentAt),
        (#"{"events":[],"client_sent_at":"1"}"#, .invalidClientSentAt),
        (#"{"events":[],"client_sent_at":1e400}"#, .invalidJSON), (#"{"events":7}"#, .invalidBatch),
    ])
    func `what stands beside the events can refuse the body`(text: String, code: BatchRefusal.Code) {
        let judged = judge(text)
        #expect(judged.refusal?.code == code)
        #expect(judged.refusal?.status == 400)
    }

    /// Case C19.
    @Test func `an empty batch is accepted and leaves no record`() {
        let judged = judge(#"{"events":[],"client_sent_at":null,"other":{"events":[1]}}"#)
        #expect(judged.refusal == nil && judged.events.isEmpty && judged.records.isEmpty)
        #expect(judged.unknownBatchFields == 1)
        #expect(judged.answer == #"{"request_id":"r","accepted":[],"rejected":[],"removed":[]}"#)
    }

    /// Case C19.
    @Test func `a hundred events are taken and a hundred and one refused whole`() {
        func text(_ count: Int) -> String {
            "{\"events\":[" + (0..<count).map { Envelope(["event_id": "\"e-\($0)\""]).text }.joined(separator: ",")
                + "]}"
        }
        #expect(judge(text(51)).records.count == 51)
        #expect(judge(text(100)).records.count == 100)
        let more = judge(text(101))
        #expect(more.refusal?.code == .tooManyEvents && more.refusal?.status == 413)
        #expect(more.records.isEmpty && more.events.isEmpty)
        // The same when the parser had to take the body apart.
        let apart = judge(text(101).replacing("\"count\":1", with: "\"count\":1e400"))
        #expect(apart.refusal?.code == .tooManyEvents)
    }

    @Test func `the body's limit is exact`() {
        let body = Envelope().body
        #expect(Judged(body, by: contract, limits: EventLimits(maximumBodyBytes: body.count)).codes == [nil])
        let judged = Judged(body + [0x20], by: contract, limits: EventLimits(maximumBodyBytes: body.count))
        #expect(judged.refusal?.code == .bodyTooLarge && judged.refusal?.status == 413)
    }

    @Test func `client drops are counted by reason`() {
        let judged = judge(
            #"{"events":[],"drops":{"expired":3,"overflow":10,"sunspots":2,"moon":1,"consent":-1,"storage":"x"}}"#
        )
        func count(_ reason: String) -> Int? {
            ClientDrops.reasons.firstIndex { "\($0)" == reason }.map { judged.drops.counts[$0] }
        }
        #expect(count("expired") == 3 && count("overflow") == 10 && count("other") == 3 && count("consent") == 0)
    }

    // MARK: - Isolation

    private let bad = Envelope(["event_id": #""bad""#, "properties": #"{"count":1e999}"#]).text
    private let good = Envelope(["event_id": #""good""#]).text

    @Test func `isolated events keep the batch's client_sent_at, their order and their indexes`() throws {
        let plain = Envelope(["client_sent_at": nil]).text
        let judged = judge("{ \"client_sent_at\" : 1796000004, \"events\" : [ \(plain) , \(bad),7,\(good)\n] }")
        #expect(judged.codes == [nil, "invalid_json", "invalid_envelope", nil])
        #expect(try judged.record(0)["client_sent_at"] as? Int == 1_796_000_004)
        #expect(judged.events[1].detail.hasPrefix("invalid_number at byte "))
    }

    @Test(arguments: [
        "[{}", "{\"a\":tru}", "{\"a\" 1}", "{} {}", "{\"a\":1,}", "", "nul",
    ])
    func `a fault of the outline refuses the body even beside an event that could be set apart`(broken: String) {
        for text in ["{\"events\":[\(good),\(bad),\(broken)]}", "{\"events\":[\(broken),\(bad),\(good)]}"] {
            let judged = judge(text)
            #expect(judged.refusal?.code == .invalidJSON)
            #expect(judged.records.isEmpty && judged.events.isEmpty)
        }
    }

    @Test func `duplicates and forbidden fields of the batch are found in the outline too`() {
        #expect(judge("{\"events\":[\(bad)],\"events\":[]}").refusal?.code == .duplicateKey)
        #expect(judge("{\"events\":[\(bad)],\"token\":1}").refusal?.code == .forbiddenField)
        #expect(judge("{\"events\":[\(bad)]").refusal?.code == .invalidJSON)
        #expect(judge("{\"events\":[\(bad)]}x").refusal?.code == .invalidJSON)
        #expect(judge("{\"x\":1e999,\"events\":[\(good)]}").refusal?.code == .invalidJSON)
    }

    @Test func `records that stood in the buffer before are never touched by a refusal`() {
        var judge = EventJudge()
        var records = ByteBuffer()
        records.append("earlier\n")
        var verdict = BatchVerdict()
        var body = ByteBuffer()
        body.append("{\"events\":[\(good),\(bad),{} {}]}")
        #expect(throws: BatchRefusal.self) {
            try judge.judge(body.bytes, under: .phone, by: contract, records: &records, verdict: &verdict)
        }
        #expect(String(decoding: records.bytes, as: UTF8.self) == "earlier\n")
    }

    // MARK: - Lines of an import

    @Test func `a line is a body or one envelope`() {
        let line = Judged(Array(good.utf8), by: contract, under: .server, asLine: true)
        #expect(line.codes == [nil] && line.records.count == 1)
        let body = Judged(body(Envelope(), Envelope()), by: contract, under: .server, asLine: true)
        #expect(body.codes == [nil, nil])
        let apart = Judged(Array("{\"events\":[\(bad),\(good)]}".utf8), by: contract, under: .server, asLine: true)
        #expect(apart.codes == ["invalid_json", nil])
    }

    @Test(arguments: ["", "{", "[]x", "nul", "{\"event\":1e999}", "\u{1}"])
    func `a line that is no JSON is refused as a whole`(text: String) {
        let judged = Judged(Array(text.utf8), by: contract, under: .server, asLine: true)
        #expect(judged.refusal?.code == .invalidJSON)
        #expect(judged.events.isEmpty && judged.records.isEmpty)
    }

    @Test func `a line that is JSON but no envelope is one refused event`() {
        for text in ["[]", "null", "7", "\"x\""] {
            let judged = Judged(Array(text.utf8), by: contract, under: .server, asLine: true)
            #expect(judged.codes == ["invalid_envelope"])
        }
    }

    // MARK: - The answer

    @Test func `the answer names every event once, and what was removed`() {
        let judged = Judged(
            body(
                Envelope(["event_id": #""a""#, "x\\\"y": "1"]),
                Envelope(["event_id": #""b""#, "event": #""nope""#]),
                Envelope(["event_id": #""b c""#]),
                Envelope(["event_id": #""d""#, "properties": #"{"screen":"s","p":1,"q":2}"#])
            ),
            by: contract
        )
        #expect(
            judged.answer
                == #"{"request_id":"r","accepted":["a","d"],"rejected":[{"index":1,"event_id":"b","code":"unsupported_event","detail":"event"},{"index":2,"event_id":null,"code":"invalid_event_id","detail":"event_id"}],"removed":[{"index":0,"names":["x\"y"]},{"index":3,"names":["p","q"]}]}"#
        )
    }

    @Test func `the answer to a refused body has its code and place`() {
        var answer = ByteBuffer()
        BatchRefusal(.invalidJSON, "syntax", byteOffset: 12).appendAnswer(requestID: "r\"1", to: &answer)
        #expect(
            String(decoding: answer.bytes, as: UTF8.self)
                == #"{"request_id":"r\"1","code":"invalid_json","detail":"syntax","byte_offset":12}"#
        )
    }

    @Test func `a judge that served one body serves the next as if it were the first`() throws {
        var judge = EventJudge()
        let other = try Contract(
            """
            {contract_version: "o", schema_versions: {min: 1, max: 1},
             events: {screen_view: {properties: {\((0..<50).map { "p\($0): {type: 'number'}" }.joined(separator: ","))}}}}
            """
        )
        for _ in 0..<3 {
            #expect(Judged(Envelope(["properties": #"{"p7":1,"p8":2}"#]).body, judge: &judge, by: other).codes == [nil])
            #expect(Judged(Array("{".utf8), judge: &judge, by: contract).refusal != nil)
            let judged = Judged(Envelope().body, judge: &judge, by: contract)
            #expect(judged.records == Judged(Envelope().body, by: contract).records)
        }
    }

    @Test func `codes have texts of their own`() {
        let texts = EventCode.allCases.map { "\($0.text)" }
        #expect(Set(texts).count == texts.count)
        for code in EventCode.allCases { #expect(EventCode(text: "\(code.text)") == code) }
        #expect(EventCode(text: "nothing") == nil)
    }
}

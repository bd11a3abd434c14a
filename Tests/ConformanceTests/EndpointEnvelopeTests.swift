// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceSystem
import Testing

/// The endpoint's own judge takes what the vectors call an envelope, and keeps each value of it as it was written.
struct EndpointEnvelopeTests {
    private let contract: Contract

    init() throws { contract = try Contract(file: "\(Vectors.folder)/contract.json") }

    /// The codes of a body's events, nil for an accepted one, and the records that were made.
    private func judge(_ body: String) throws -> (codes: [String?], removed: Int, records: [VectorValue]) {
        var judge = EventJudge()
        var input = ByteBuffer()
        input.append(Array(body.utf8))
        var lines = ByteBuffer()
        var verdict = BatchVerdict()
        let admission = Admission(receivedAt: 1_796_000_010, collection: "mobile", clock: .off)
        try judge.judge(input.bytes, under: admission, by: contract, records: &lines, verdict: &verdict)
        let records = try lines.bytes.split(separator: UInt8(ascii: "\n")).map { try VectorValue($0) }
        let codes = verdict.events.map { $0.outcome == .accepted ? nil : "\($0.code.text)" }
        return (codes, verdict.removedNames.count, records)
    }

    private func check(_ file: String) throws {
        for vector in try Vectors.lines(file) where vector["drop"] == nil {
            let name = try vector.text("name")
            let envelope = try vector.text("envelope")
            let judged = try judge("{\"client_sent_at\":1796000009,\"events\":[\(envelope)]}")
            #expect(judged.codes == [nil], "\(name)")
            #expect(judged.removed == 0, "\(name)")
            let record = try #require(judged.records.first, "\(name)")
            // Who somebody is, is decided by the endpoint and stands elsewhere.
            #expect(record["envelope"] == (try VectorValue(envelope.utf8)).without("user_id"), "\(name)")
        }
    }

    @Test func `the endpoint takes each envelope whole`() throws { try check("encode.jsonl") }
    @Test func `the endpoint takes what is left of an event with malformed parts`() throws { try check("reject.jsonl") }

    @Test func `the endpoint keeps the text of each number`() throws {
        let vectors = try Vectors.lines("numbers.jsonl").filter { $0["property"] == nil }
        #expect(vectors.count > 1500)
        for start in stride(from: 0, to: vectors.count, by: 100) {
            let texts = try vectors[start..<min(start + 100, vectors.count)].map { try $0.text("text") }
            let judged = try judge("{\"events\":[\(texts.map(event).joined(separator: ","))]}")
            #expect(judged.codes.allSatisfy { $0 == nil } && judged.codes.count == texts.count)
            for (text, record) in zip(texts, judged.records) {
                #expect(record["envelope"]?["properties"]?["number"] == .number(text))
            }
        }
    }

    @Test func `numbers of more than 64 bits would cost their event`() throws {
        var refused = 0
        for vector in try Vectors.lines("numbers.jsonl") where vector["property"] != nil {
            guard let text = vector["text"]?.text else { continue }
            let fits = Int64(text) != nil || UInt64(text) != nil
            #expect(try judge("{\"events\":[\(event(text))]}").codes == [fits ? nil : "invalid_json"], "\(text)")
            refused += fits ? 0 : 1
        }
        #expect(refused > 5)
    }

    @Test func `the endpoint reads each request's body`() throws {
        for vector in try Vectors.lines("body.jsonl") {
            let judged = try judge(vector.text("body"))
            #expect(judged.codes.allSatisfy { $0 == nil })
            #expect(try judged.codes.count == vector.require("events").elements.count)
            let sentAt = try vector.require("client_sent_at")
            for record in judged.records { #expect(record["client_sent_at"] == sentAt) }
        }
    }

    private func event(_ number: String) -> String {
        """
        {"anonymous_id":"a","app_version":"1","build_number":"1","event":"report_exported","event_id":"e","occurred_at":1,\
        "platform":"ios","properties":{"number":\(number)},"schema_version":1,"sequence":0,"session_id":"s"}
        """
    }
}

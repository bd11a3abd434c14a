// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import Testing

/// The envelope's fields, one at a time.
struct FieldTests {
    private let contract: Contract

    init() throws { contract = try Inputs.contract() }

    private static let hundred = String(repeating: "x", count: 100)
    private static let fifty = String(repeating: "x", count: 50)

    @Test(
        arguments: [
            ("event", nil, "invalid_event"), ("event", "7", "invalid_event"), ("event", "null", "invalid_event"),
            ("event", #""Screen_view""#, "unsupported_event"), ("event", #""""#, "unsupported_event"),
            ("event", #""screen_vie\u0077""#, nil),
            ("event_id", nil, "invalid_event_id"), ("event_id", "7", "invalid_event_id"),
            ("event_id", #""""#, "invalid_event_id"), ("event_id", "\"\(hundred)\"", nil),
            ("event_id", "\"\(hundred)x\"", "invalid_event_id"), ("event_id", #""a b""#, "invalid_event_id"),
            ("event_id", #""AZaz09_-.:""#, nil), ("event_id", #""é""#, "invalid_event_id"),
            ("event_id", #""a/b""#, "invalid_event_id"), ("event_id", #""a@b""#, "invalid_event_id"),
            ("event_id", #""a\u0000""#, "invalid_event_id"), ("event_id", #""\u0061""#, nil),
            ("occurred_at", "1796000000000", "invalid_occurred_at"), ("occurred_at", "-1", "invalid_occurred_at"),
            ("occurred_at", "-0", "invalid_occurred_at"), ("occurred_at", "99999999999", nil),
            ("occurred_at", "100000000000", "invalid_occurred_at"), ("occurred_at", "0", nil),
            ("occurred_at", "18446744073709551615", "invalid_occurred_at"),
            ("client_sent_at", nil, nil), ("client_sent_at", "null", nil),
            ("client_sent_at", "1.5", "invalid_client_sent_at"),
            ("client_sent_at", #""1""#, "invalid_client_sent_at"), ("client_sent_at", "-1", "invalid_client_sent_at"),
            ("sequence", "0", nil), ("sequence", "9223372036854775807", nil), ("sequence", "null", nil),
            ("sequence", "-1", "invalid_sequence"), ("sequence", "1.0", "invalid_sequence"),
            ("sequence", #""1""#, "invalid_sequence"), ("sequence", "9223372036854775808", "invalid_sequence"),
            ("anonymous_id", nil, "invalid_anonymous_id"), ("anonymous_id", "null", "invalid_anonymous_id"),
            ("anonymous_id", "\"\(hundred)\"", nil), ("anonymous_id", "\"\(hundred)x\"", "invalid_anonymous_id"),
            ("anonymous_id", #""a@b""#, "identifier_not_opaque"),
            ("anonymous_id", #""a\u0040b""#, "identifier_not_opaque"),
            ("anonymous_id", #""a\nb""#, "invalid_anonymous_id"), ("anonymous_id", #""größe 1""#, nil),
            ("session_id", nil, "invalid_session_id"), ("session_id", #""""#, "invalid_session_id"),
            ("session_id", #""me@home""#, "identifier_not_opaque"),
            ("user_id", nil, nil), ("user_id", #""usr_1""#, nil), ("user_id", #""""#, "invalid_user_id"),
            ("user_id", "true", "invalid_user_id"), ("user_id", #""a@b.example""#, "identifier_not_opaque"),
            ("app_version", nil, "invalid_app_version"), ("app_version", "1.2", "invalid_app_version"),
            ("app_version", "\"\(fifty)\"", nil), ("app_version", "\"\(fifty)x\"", "invalid_app_version"),
            ("app_version", #""1\u0000""#, "invalid_app_version"),
            ("build_number", nil, "invalid_build_number"), ("build_number", "45", "invalid_build_number"),
            ("build_number", #""""#, "invalid_build_number"),
            ("platform", nil, "invalid_platform"), ("platform", "null", "invalid_platform"),
            ("platform", #""iOS""#, "invalid_platform"), ("platform", #""android""#, nil),
            ("platform", #""server""#, "invalid_platform"), ("platform", "1", "invalid_platform"),
            ("schema_version", nil, "invalid_schema_version"), ("schema_version", "2", nil),
            ("schema_version", "0", "unsupported_schema_version"),
            ("schema_version", "3", "unsupported_schema_version"),
            ("schema_version", "1.0", "invalid_schema_version"), ("schema_version", "-1", "invalid_schema_version"),
            ("schema_version", "true", "invalid_schema_version"),
            ("experiments", "null", nil), ("experiments", "{}", nil), ("experiments", "[]", "invalid_experiments"),
            ("experiments", #""a""#, "invalid_experiments"),
            ("properties", "7", "invalid_properties"),
            ("api_key", "null", "forbidden_field"), ("collection", #""c""#, "forbidden_field"),
            ("token", #""t""#, "forbidden_field"),
        ] as [(String, String?, String?)]
    )
    func `each field is checked and named`(field: String, json: String?, code: String?) {
        let judged = Judged(Envelope([field: json]).body, by: contract, under: .later)
        #expect(judged.codes == [code])
        if code != nil && code != "unsupported_event" { #expect(judged.events.first?.detail == field) }
        #expect(judged.records.count == (code == nil ? 1 : 0))
    }

    @Test func `lengths count characters and not bytes`() {
        let hundred = String(repeating: "é", count: 100)
        #expect(Judged(Envelope(["anonymous_id": "\"\(hundred)\""]).body, by: contract).codes == [nil])
        #expect(
            Judged(Envelope(["anonymous_id": "\"\(hundred)é\""]).body, by: contract).codes == ["invalid_anonymous_id"]
        )
    }

    @Test func `event names compare as bytes`() throws {
        let contract = try Contract(
            "{contract_version: '1', schema_versions: {min: 1, max: 1}, events: {'caf\u{E9}': {}}}"
        )
        let composed = Envelope(["event": "\"caf\u{E9}\"", "properties": nil]).body
        let decomposed = Envelope(["event": "\"cafe\u{301}\"", "properties": nil]).body
        #expect(Judged(composed, by: contract).codes == [nil])
        #expect(Judged(decomposed, by: contract).codes == ["unsupported_event"])
    }

    @Test func `a key that stands twice rejects the event, also where nobody reads it`() {
        let twice = #"{"event_id":"a","event_id":"a","# + Envelope(["event_id": nil]).text.dropFirst()
        let bodies: [(String, String)] = [
            (twice, "event_id"),
            (Envelope(["x": "1"]).text.dropLast() + #","x":2}"#, "x"),
            (Envelope(["properties": #"{"screen":"a","screen":"b"}"#]).text, "screen"),
            (Envelope(["properties": #"{"other":1,"screen":"b","other":2}"#]).text, "other"),
        ]
        for (text, name) in bodies {
            let judged = Judged(Array("{\"events\":[\(text)]}".utf8), by: contract)
            #expect(judged.codes == ["duplicate_key"])
            #expect(judged.events.first?.detail == name)
        }
    }

    @Test func `a duplicate among hundreds of unknown fields is found`() {
        let many = (0..<600).map { ",\"u\($0)\":0" }.joined()
        let good = Array("{\"events\":[\(Envelope().text.dropLast())\(many)}]}".utf8)
        #expect(Judged(good, by: contract).events.first?.removed.count == 600)
        let bad = Array("{\"events\":[\(Envelope().text.dropLast())\(many),\"u300\":1}]}".utf8)
        #expect(Judged(bad, by: contract).codes == ["duplicate_key"])
    }

    @Test func `a forbidden field is told before any other fault`() {
        let text = Envelope(["api_key": #""k""#, "event": #""nope""#]).text.dropLast() + #","event":1}"#
        let judged = Judged(Array("{\"events\":[\(text)]}".utf8), by: contract)
        #expect(judged.codes == ["forbidden_field"])
        #expect(judged.events.first?.detail == "api_key")
    }

    @Test func `an event of exactly the size limit is taken and one byte more is not`() {
        let length = Envelope().text.utf8.count
        let limits = EventLimits(maximumEventBytes: length)
        #expect(Judged(Envelope().body, by: contract, limits: limits).codes == [nil])
        let longer = Envelope(["event_id": #""e-12""#]).body
        #expect(Judged(longer, by: contract, limits: limits).codes == ["event_too_large"])
    }

    @Test func `removed names are cut at 100 bytes and a character's end`() {
        let name = String(repeating: "é", count: 80)
        let judged = Judged(Envelope([name: "1"]).body, by: contract)
        #expect(judged.events.first?.removed == [String(repeating: "é", count: 50)])
        #expect(Judged(Envelope(["x" + name: "1"]).body, by: contract).events.first?.removed.first?.utf8.count == 99)
    }
}

extension Admission {
    /// Without a clock policy.
    static let later = Admission(receivedAt: 1_796_000_010, collection: "mobile_events", clock: .off)
}

// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceJSON
import SluiceSystem
import Testing

/// Records that are judged again.
struct ReplayTests {
    private let old: Contract
    private let new: Contract
    private let origin = SpooledRecord.Origin(segment: "1796000000000-00000000000000aa-0", frame: 96, index: 4)

    init() throws {
        old = try Contract(
            """
            {contract_version: "old", schema_versions: {min: 1, max: 1}, on_unknown: "quarantine",
             events: {screen_view: {properties: {screen: {type: "string"}, count: {type: "number"}, ok: {type: "boolean"}}}}}
            """
        )
        new = try Contract(
            """
            {contract_version: "new", schema_versions: {min: 1, max: 2},
             events: {
               screen_view: {properties: {screen: {type: "string"}}},
               search: {collection: "searches", durability: "low", expires_after_s: 60,
                        properties: {term: {type: "string", max_length: 10}, hits: {type: "number"}}},
               paid: {source: "server"},
             }}
            """
        )
    }

    private func rejudge(
        _ line: String,
        by contract: Contract,
        acceptsClock: Bool = false
    ) throws -> (Rejudgement, String) {
        var buffer = ByteBuffer()
        buffer.append(line)
        var judge = EventJudge()
        var records = ByteBuffer()
        let record = try SpooledRecord(try JSONParser(maximumBytes: 1 << 16).parse(buffer.bytes))
        let result = judge.rejudge(record, from: origin, by: contract, acceptsClock: acceptsClock, records: &records)
        return (result, String(decoding: records.bytes, as: UTF8.self))
    }

    private let search = Envelope(["event": #""search""#, "properties": #"{"term":"tea","hits":1.50,"z":true}"#])

    @Test func `an unlisted event is kept whole and goes out once the contract lists it`() throws {
        var admission = Admission.phone
        admission.environment = "staging"
        admission.user = Admission.User(id: Array("usr_1".utf8))
        admission.assignsUser = true
        let judged = Judged(search.body, by: old, under: admission)
        #expect(judged.events == [.init(outcome: .quarantined, code: "unsupported_event", id: "e-1")])
        #expect(judged.properties() == #"{"hits":1.50,"term":"tea","z":true}"#)
        let line = try #require(judged.records.first)
        #expect(line.contains(#","quarantine":{"reason":"unsupported_event","detail":"event"},"trusted":"#))

        let (still, nothing) = try rejudge(line, by: old)
        #expect(still == .stays(.unsupportedEvent, detail: "event") && nothing.isEmpty)

        let (result, replayed) = try rejudge(line, by: new)
        #expect(result == .replayed(removed: ["z"]))
        #expect(
            replayed
                == #"{"origin":{"segment":"1796000000000-00000000000000aa-0","frame":96,"index":4},"replays":1,"received_at":1796000010,"collection":"searches","timestamp":1796000000,"client_sent_at":1796000005,"expires_at":1796000070,"contract":{"version":"new","hash":""#
                + new.hash
                + #""},"environment":"staging","trusted":{"user_id":"usr_1"},"envelope":{"event":"search","event_id":"e-1","occurred_at":1796000000,"client_sent_at":1796000005,"anonymous_id":"anon-1","session_id":"sess-1","app_version":"1.2.3","build_number":"45","platform":"ios","schema_version":1,"properties":{"hits":1.50,"term":"tea"}}}"#
                + "\n"
        )
    }

    @Test func `what still breaks a rule stays, with the reason of now`() throws {
        let long = Envelope(["event": #""search""#, "properties": #"{"term":"much too long a term"}"#])
        let line = try #require(Judged(long.body, by: old).records.first)
        #expect(try rejudge(line, by: new).0 == .stays(.invalidProperty, detail: "term"))
    }

    @Test func `a replayed record keeps its first origin and counts up`() throws {
        let line = try #require(Judged(search.body, by: old).records.first)
        let (_, once) = try rejudge(line, by: new)
        let other = once.replacing("\"frame\":96", with: "\"frame\":97")
        let (result, twice) = try rejudge(other, by: new)
        #expect(result == .replayed(removed: []))
        #expect(
            twice.hasPrefix(
                #"{"origin":{"segment":"1796000000000-00000000000000aa-0","frame":97,"index":4},"replays":2,"#
            )
        )
        #expect(twice.drop { $0 != "," }.dropFirst() != once.drop { $0 != "," }.dropFirst())
        #expect(try SpooledRecordText(twice).replays == 2)
    }

    @Test func `an event of an unlisted schema version waits for the contract`() throws {
        let judged = Judged(Envelope(["schema_version": "2"]).body, by: old)
        #expect(judged.events.first?.code == "unsupported_schema_version")
        #expect(judged.events.first?.outcome == .quarantined)
        #expect(judged.properties() == #"{"count":1,"ok":true,"screen":"home"}"#)
        let line = try #require(judged.records.first)
        #expect(try rejudge(line, by: old).0 == .stays(.unsupportedSchemaVersion, detail: "schema_version"))
        #expect(try rejudge(line, by: new).0 == .replayed(removed: ["count", "ok"]))
    }

    @Test func `a record set aside for its time goes out only when its clock is accepted`() throws {
        let judged = Judged(Envelope(["occurred_at": "1700000000"]).body, by: old)
        let line = try #require(judged.records.first)
        #expect(try rejudge(line, by: old).0 == .stays(.occurredAtTooOld, detail: "occurred_at"))
        let (result, replayed) = try rejudge(line, by: old, acceptsClock: true)
        #expect(result == .replayed(removed: []))
        #expect(try SpooledRecordText(replayed).timestamp == 1_700_000_000)
        #expect(!replayed.contains("quarantine") && !replayed.contains("timestamp_corrected"))
    }

    @Test func `a record that upstream refused keeps its corrected time`() throws {
        let judged = Judged(Envelope(["occurred_at": "1796009999"]).body, by: old)
        let line = try #require(judged.records.first)
        let (result, replayed) = try rejudge(line, by: new)
        #expect(result == .replayed(removed: ["count", "ok"]))
        let record = try SpooledRecordText(replayed)
        #expect(record.timestamp == 1_796_000_310 && record.isTimestampCorrected)
    }

    @Test func `what a server stated stays a server's`() throws {
        let paid = Envelope([
            "event": #""paid""#, "anonymous_id": nil, "session_id": nil, "app_version": nil, "build_number": nil,
            "platform": nil, "properties": nil,
        ])
        let line = try #require(Judged(paid.body, by: old, under: .server).records.first)
        let (result, replayed) = try rejudge(line, by: new)
        #expect(result == .replayed(removed: []))
        #expect(replayed.contains(#","source":"server","#))
        // The same event from an app does not become a server's by waiting.
        let app = Envelope(["event": #""paid""#, "properties": nil])
        let appLine = try #require(Judged(app.body, by: old).records.first)
        #expect(try rejudge(appLine, by: new).0 == .stays(.serverOnlyEvent, detail: "event"))
    }

    @Test func `nothing that is unlisted, nested or a secret is kept for later`() throws {
        func judged(_ properties: String) -> Judged {
            Judged(Envelope(["event": #""search""#, "properties": properties]).body, by: old)
        }
        let kept = judged(#"{"b":{"x":1},"a":"1","c":[2],"d":null,"e\u0000":1,"f":"x\u0000"}"#)
        #expect(kept.properties() == #"{"a":"1"}"#)
        #expect(kept.events.first?.removed == ["b", "c", "d", "e\u{0}", "f"])
        #expect(judged(#"{"token":"t"}"#).codes == ["forbidden_field"])
        #expect(judged(#"{"a":"bob@mail.example"}"#).codes == ["email_like_value"])
        #expect(judged(#"{"a":1,"b":2,"a":3}"#).codes == ["duplicate_key"])
        #expect(Judged(Envelope(["event": #""""#]).body, by: old).codes == ["invalid_event"])
    }
}

/// What a record line says, read back.
struct SpooledRecordText {
    var timestamp: Int
    var replays: Int
    var isTimestampCorrected: Bool

    init(_ line: String) throws {
        var buffer = ByteBuffer()
        buffer.append(line)
        let record = try SpooledRecord(try JSONParser(maximumBytes: 1 << 16).parse(buffer.bytes))
        timestamp = record.timestamp
        replays = record.replays
        isTimestampCorrected = record.isTimestampCorrected
    }
}

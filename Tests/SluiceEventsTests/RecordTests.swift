// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceJSON
import SluiceSystem
import Testing

/// The exact bytes of record lines.
struct RecordTests {
    private let contract: Contract

    init() throws {
        contract = try Contract(
            """
            {contract_version: "v\\"1", schema_versions: {min: 1, max: 2}, experiments: ["b", "a"],
             defaults: {"android-prod": {platform: "android", schema_version: 2}, "*": {schema_version: 1}},
             events: {
               screen_view: {properties: {screen: {type: "string"}, count: {type: "number"}, ok: {type: "boolean"}}},
               heartbeat: {durability: "low", expires_after_s: 60, collection: "beats"},
             }}
            """
        )
    }

    @Test func `the least record`() {
        let judged = Judged(Envelope(["client_sent_at": nil]).body, by: contract)
        #expect(
            judged.records == [
                #"{"received_at":1796000010,"collection":"mobile_events","timestamp":1796000000,"contract":{"version":"v\"1","hash":""#
                    + contract.hash
                    + #""},"trusted":{},"envelope":{"event":"screen_view","event_id":"e-1","occurred_at":1796000000,"anonymous_id":"anon-1","session_id":"sess-1","app_version":"1.2.3","build_number":"45","platform":"ios","schema_version":1,"properties":{"count":1,"ok":true,"screen":"home"}}}"#
            ]
        )
    }

    @Test func `a record with everything`() throws {
        var admission = Admission(receivedAt: 1_796_000_010, collection: "c\"1", client: "ios-prod")
        admission.user = Admission.User(id: Array("usr \"1".utf8), account: Array("acc_1".utf8))
        admission.environment = "stag\\ing"
        let envelope = Envelope([
            "event": #""heartbeat""#, "occurred_at": "1796009999", "client_sent_at": "1796009999", "sequence": "7",
            "user_id": #""usr \u00221""#, "anonymous_id": #""a\u002f\/b\u00e9\t""#, "properties": "{}",
            "experiments": #"{"b":"x","a":"y"}"#,
        ])
        let escaped = Judged(envelope.body, by: contract, under: admission)
        #expect(escaped.codes == ["invalid_anonymous_id"])  // a tab is a control character
        var good = envelope
        good.fields[4].json = #""a\u002f\/b\u00e9\"""#
        #expect(
            Judged(good.body, by: contract, under: admission).records == [
                #"{"received_at":1796000010,"collection":"beats","timestamp":1796000010,"timestamp_corrected":true,"client_sent_at":1796009999,"expires_at":1796000070,"contract":{"version":"v\"1","hash":""#
                    + contract.hash
                    + #""},"environment":"stag\\ing","trusted":{"user_id":"usr \"1","account_id":"acc_1","client":"ios-prod"},"envelope":{"event":"heartbeat","event_id":"e-1","occurred_at":1796009999,"client_sent_at":1796009999,"sequence":7,"anonymous_id":"a//bé\"","session_id":"sess-1","app_version":"1.2.3","build_number":"45","platform":"ios","schema_version":1,"experiments":{"a":"y","b":"x"},"properties":{}}}"#
            ]
        )
    }

    @Test func `the batch's client_sent_at stands in for the event's, which wins`() throws {
        let plain = Envelope(["client_sent_at": nil]).text
        let own = Envelope(["client_sent_at": "1796000003"]).text
        let body = Array("{\"client_sent_at\":1796000004,\"events\":[\(plain),\(own)]}".utf8)
        let judged = Judged(body, by: contract)
        #expect(try judged.record(0)["client_sent_at"] as? Int == 1_796_000_004)
        #expect(try judged.part("envelope", 0)["client_sent_at"] == nil)
        #expect(try judged.record(1)["client_sent_at"] as? Int == 1_796_000_003)
        #expect(try judged.part("envelope", 1)["client_sent_at"] as? Int == 1_796_000_003)
    }

    @Test func `defaults fill in what a client leaves out, its own before the common ones`() throws {
        let body = Envelope(["platform": nil, "schema_version": nil]).body
        var admission = Admission.phone
        #expect(Judged(body, by: contract, under: admission).codes == ["invalid_platform"])
        admission.client = "android-prod"
        let envelope = try Judged(body, by: contract, under: admission).part("envelope")
        #expect(envelope["platform"] as? String == "android")
        #expect(envelope["schema_version"] as? Int == 2)
        admission.client = "ios-prod"
        let partly = Envelope(["schema_version": "null"]).body
        #expect(try Judged(partly, by: contract, under: admission).part("envelope")["schema_version"] as? Int == 1)
    }

    @Test func `a platform that the server knows overrides the event's`() throws {
        var admission = Admission.phone
        admission.platform = "android"
        for platform in [#""ios""#, "7", nil] {
            let judged = Judged(Envelope(["platform": platform]).body, by: contract, under: admission)
            #expect(try judged.part("envelope")["platform"] as? String == "android")
        }
    }

    @Test func `numbers and text leave as they came`() {
        for number in [
            "9007199254740993", "18446744073709551615", "-9223372036854775808", "-0", "1.0", "1E5", "1e-300",
        ] {
            let judged = Judged(Envelope(["properties": "{\"count\":\(number)}"]).body, by: contract)
            #expect(judged.properties() == "{\"count\":\(number)}")
        }
        for number in ["18446744073709551616", "-9223372036854775809", "1e400", "-1e400"] {
            let judged = Judged(Envelope(["properties": "{\"count\":\(number)}"]).body, by: contract)
            #expect(judged.codes == ["invalid_json"])
        }
    }

    @Test func `text with escapes is written with the fewest`() {
        let screen = #""\u0041\/\n\u001f\"\\\u00e9\ud83d\ude00\u007f""#
        let judged = Judged(Envelope(["properties": "{\"screen\":\(screen)}"]).body, by: contract)
        #expect(judged.properties() == "{\"screen\":\"A/\\n\\u001f\\\"\\\\é\u{1F600}\u{7F}\"}")
    }

    @Test func `each line is a record that readers take`() throws {
        let envelopes = (0..<100).map { Envelope(["event_id": "\"id-\($0)\""]).text }
        let judged = Judged(Array("{\"events\":[\(envelopes.joined(separator: ","))]}".utf8), by: contract)
        #expect(judged.records.count == 100)
        let parser = JSONParser(maximumBytes: 1 << 16)
        for (number, line) in judged.records.enumerated() {
            var buffer = ByteBuffer()
            buffer.append(line)
            let record = try SpooledRecord(try parser.parse(buffer.bytes))
            #expect(record.document.string(record.document[record.eventID]) == "id-\(number)")
            #expect(record.timestamp == 1_796_000_000)
        }
    }

    @Test func `the longest texts that pass are written whole`() throws {
        let contract = try Contract(
            """
            {contract_version: "1", schema_versions: {min: 1, max: 1}, platforms: ["ios"],
             events: {screen_view: {collection: "\(String(repeating: "\\u0001", count: 150))",
               properties: {screen: {type: "string"}}}}}
            """
        )
        var admission = Admission.phone
        admission.environment = String(repeating: "\u{1}", count: 2000)
        admission.client = String(repeating: "\u{2}", count: 2000)
        admission.user = Admission.User(
            id: [UInt8](repeating: 3, count: 2000),
            account: [UInt8](repeating: 4, count: 2000)
        )
        admission.assignsUser = true
        admission.platform = String(repeating: "\u{5}", count: 2000)
        let screen = String(repeating: #"\u0006é\n"#, count: 2000)
        let body = Envelope(["properties": "{\"screen\":\"\(screen)\"}"]).body
        let judged = Judged(body, by: contract, under: admission)
        #expect(judged.properties() == "{\"screen\":\"\(screen)\"}")
        let trusted = try judged.part("trusted")
        #expect((trusted["client"] as? String)?.utf8.count == 2000)
        #expect((trusted["account_id"] as? String)?.utf8.count == 2000)
    }
}

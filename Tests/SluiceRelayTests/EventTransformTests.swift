// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceJSON
import SluiceRelay
import SluiceSystem
import Testing

struct EventTransformTests {
    private let parser = JSONParser(maximumBytes: 1 << 20)

    /// The event as GraphJSON reads it: the JSON string's content, unescaped once.
    private func event(_ record: String, precision: Int = 1) throws -> String {
        var buffer = ByteBuffer(capacity: record.utf8.count)
        buffer.append(record)
        var output = ByteBuffer()
        let transform = EventTransform(timestampPrecision: precision)
        try transform.append(try SpooledRecord(try parser.parse(buffer.bytes)), to: &output)
        var document = ByteBuffer(capacity: output.count + 2)
        document.append("\"")
        document.append(output.bytes)
        document.append("\"")
        let text = try parser.parse(document.bytes)
        return text.string(text[0])
    }

    private func record(
        envelope: String = "",
        extra: String = "",
        trusted: String = "{}",
        properties: String = #"{"report_type":"retention"}"#
    ) -> String {
        Sample.record(envelope: envelope, extra: extra, trusted: trusted, properties: properties)
    }

    @Test func `an event is flat: envelope, trusted fields, what the server noted, experiments, properties`() throws {
        let text = try event(
            record(
                envelope: #""sequence":3,"experiments":{"new_export":"b"},"#,
                extra:
                    #""timestamp_corrected":true,"client_sent_at":1796000005,"contract":{"version":"2026-1","hash":"00"},"environment":"staging","#,
                trusted: #"{"user_id":"usr_42","account_id":"acc_7"}"#
            )
        )
        #expect(
            text
                == #"{"event":"report_exported","event_id":"evt_1","occurred_at":1796000000,"anonymous_id":"anon_1","#
                + #""session_id":"ses_1","sequence":3,"app_version":"4.8.0","build_number":"842","platform":"ios","#
                + #""schema_version":1,"user_id":"usr_42","account_id":"acc_7","environment":"staging","#
                + #""received_at":1796000010,"client_sent_at":1796000005,"timestamp_corrected":true,"#
                + #""contract_version":"2026-1","experiment_new_export":"b","report_type":"retention"}"#
        )
    }

    @Test func `numbers keep their text and strings their characters`() throws {
        let properties = #"{"a":9007199254740993,"b":0.30000000000000004,"c":-0,"d":1e2,"e":"q\" b\\ \u0001 \n é 😀"}"#
        #expect(try event(record(properties: properties)).hasSuffix(String(properties.dropFirst())))
    }

    @Test func `a user is believed from the trusted part alone`() throws {
        let text = try event(record(envelope: #""user_id":"usr_forged","#))
        #expect(!text.contains("usr_forged"))
        #expect(try event(record(envelope: #""user_id":null,"#)).contains(#""user_id":null"#))
        let known = try event(record(envelope: #""user_id":null,"#, trusted: #"{"user_id":"usr_1"}"#))
        #expect(known.contains(#""user_id":"usr_1""#) && !known.contains("null"))
    }

    @Test func `rounding says its width and leaves the time of the event exact`() throws {
        let text = try event(record(), precision: 60)
        #expect(text.contains(#""occurred_at":1796000000"#))
        #expect(text.contains(#""timestamp_rounded_s":60"#))
    }

    @Test(
        arguments: [
            #"{"event_id":"other"}"#, #"{"account_id":"acc_1"}"#, #"{"experiment_x":"b"}"#, #"{"a":1,"a":2}"#,
            #"{"timestamp_rounded_s":1}"#, #"{"user\u005fid":"x"}"#,
        ]
    )
    func `a property that takes another field's name is refused`(properties: String) {
        #expect(throws: TransformError.collision) { try event(record(properties: properties)) }
    }

    @Test(arguments: [
        Sample.record(envelope: #""session_id":"ses_2","#), Sample.record(envelope: #""received_at":1,"#),
        Sample.record(envelope: #""contract_version":"x","#, extra: #""contract":{"version":"1"},"#),
        Sample.record(envelope: #""report_type":1,"#), Sample.record(envelope: #""new":1,"new":2,"#),
        Sample.record(envelope: #""experiment_x":1,"#),
        Sample.record(envelope: #""user\u005fid":null,"#, trusted: #"{"user_id":1,"user_id":2}"#),
        Sample.record(trusted: #"{"event":"x"}"#), Sample.record(trusted: #"{"new":1}"#, properties: #"{"new":1}"#),
        Sample.record(envelope: #""experiments":{"x":"a","x":"b"},"#),
        Sample.record(envelope: #""experiments":{"x":"a"},"experiments":{"y":"a"},"#),
        Sample.record(envelope: #""properties":{},"#),
        Sample.record(extra: #""environment":"a","#, trusted: #"{"environment":"b"}"#),
    ])
    func `no two members of an event have one name, whoever wrote the record`(record: String) {
        #expect(throws: TransformError.collision) { try event(record) }
    }

    @Test func `experiments beyond all measure are refused, and many short ones have room`() throws {
        func experiments(_ count: Int) -> String {
            let members = (0..<count).map { #""\#($0 % 10)\#($0 / 10)":1"# }.joined(separator: ",")
            return record(envelope: "\"experiments\":{\(members)},", properties: "{}")
        }
        #expect(try event(experiments(64)).contains(#""experiment_36":1"#))
        #expect(throws: TransformError.tooManyExperiments) { try event(experiments(65)) }
        #expect(throws: TransformError.tooManyExperiments) { try event(experiments(5000)) }
    }

    @Test func `a contract's version that has parts is refused`() {
        let line = record(extra: #""contract":{"version":{"a":"b"}},"#)
        #expect(throws: TransformError.nested("contract")) { try event(line) }
    }

    @Test(arguments: [#"{"a":{"b":1}}"#, #"{"a":[1]}"#, #"{"a":null}"#])
    func `a property that is no string, number or boolean is refused`(properties: String) {
        #expect(throws: TransformError.nested("properties")) { try event(record(properties: properties)) }
    }

    @Test func `the same record gives the same bytes each time`() throws {
        let line = record(properties: #"{"z":1,"a":"x"}"#)
        #expect(try event(line) == event(line))
    }
}

private enum Sample {
    static func record(
        envelope: String = "",
        extra: String = "",
        trusted: String = "{}",
        properties: String = #"{"report_type":"retention"}"#
    ) -> String {
        #"{"received_at":1796000010,"collection":"reports","timestamp":1796000000,"# + extra + #""trusted":"# + trusted
            + #","envelope":{"event":"report_exported","event_id":"evt_1","occurred_at":1796000000,"#
            + #""anonymous_id":"anon_1","session_id":"ses_1","# + envelope
            + #""app_version":"4.8.0","build_number":"842","platform":"ios","schema_version":1,"properties":"#
            + properties
            + "}}"
    }
}

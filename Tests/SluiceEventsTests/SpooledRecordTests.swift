// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceJSON
import SluiceSystem
import Testing

struct SpooledRecordTests {
    private func reading<Result>(
        _ line: String,
        at root: StaticString? = nil,
        _ body: (SpooledRecord) throws -> Result
    ) throws -> Result {
        var buffer = ByteBuffer()
        buffer.append(line)
        let document = try JSONParser(maximumBytes: 1 << 20).parse(buffer.bytes)
        let index = try root.map { try #require(document.value(of: $0, in: 0)) } ?? 0
        return try body(try SpooledRecord(document, at: index))
    }

    private let full = """
        {"origin":{"segment":"s-1","frame":70,"index":3},"replays":2,"received_at":1796000010,"collection":"reports",\
        "timestamp":1796000000,"timestamp_corrected":true,"client_sent_at":1796000005,"expires_at":1796003600,\
        "contract":{"version":"v1","hash":"00ff"},"environment":"staging",\
        "quarantine":{"reason":"unsupported_event","detail":"x"},"trusted":{"user_id":"usr_1","account_id":"acc"},\
        "envelope":{"event":"a","event_id":"e-1","occurred_at":1,"anonymous_id":"an","session_id":"s",\
        "app_version":"4.8","build_number":"1","platform":"ios","schema_version":1,"properties":{}}}
        """

    @Test func `every member is read`() throws {
        try reading(full) { record in
            func text(_ index: Int?) -> String? { index.map { record.document.string(record.document[$0]) } }
            #expect(record.receivedAt == 1_796_000_010 && record.timestamp == 1_796_000_000)
            #expect(record.isTimestampCorrected && record.clientSentAt == 1_796_000_005)
            #expect(record.expiresAt == 1_796_003_600 && record.replays == 2)
            #expect(record.origin == SpooledRecord.Origin(segment: "s-1", frame: 70, index: 3))
            #expect(text(record.collection) == "reports" && text(record.environment) == "staging")
            #expect(text(record.event) == "a" && text(record.eventID) == "e-1")
            #expect(text(record.anonymousID) == "an" && text(record.appVersion) == "4.8")
            #expect(text(record.userID) == "usr_1" && record.claimedUserID == nil)
            #expect(text(record.quarantineReason) == "unsupported_event" && text(record.quarantineDetail) == "x")
            #expect(text(record.contractVersion) == "v1")
        }
    }

    @Test func `the least record has nothing else`() throws {
        let line = """
            {"trusted":{},"envelope":{"event_id":"e","event":"a"},"collection":"c","timestamp":1,"received_at":2,"new":[1]}
            """
        try reading(line) { record in
            #expect(record.receivedAt == 2 && record.timestamp == 1 && record.replays == 0)
            #expect(!record.isTimestampCorrected && !record.isQuarantined)
            #expect(record.clientSentAt == nil && record.expiresAt == nil && record.origin == nil)
            #expect(record.anonymousID == nil && record.appVersion == nil && record.userID == nil)
            #expect(record.environment == nil && record.contract == nil && record.quarantineReason == nil)
        }
    }

    @Test func `a record inside a quarantine entry is read where it stands`() throws {
        try reading("{\"reason\":\"r\",\"record\":\(full)}", at: "record") { #expect($0.receivedAt == 1_796_000_010) }
    }

    @Test(arguments: [
        ("[]", RecordError.Code.notAnObject, ""),
        ("{}", .missingMember, "received_at"),
        (#"{"received_at":1,"collection":"c","timestamp":1,"trusted":{}}"#, .missingMember, "envelope"),
        (#"{"received_at":"1"}"#, .invalidMember, "received_at"),
        (#"{"received_at":1.0}"#, .invalidMember, "received_at"),
        (#"{"received_at":9223372036854775807}"#, .invalidMember, "received_at"),
        (#"{"timestamp":-9223372036854775808}"#, .invalidMember, "timestamp"),
        (#"{"client_sent_at":300000000001}"#, .invalidMember, "client_sent_at"),
        (#"{"expires_at":9000000000000000000}"#, .invalidMember, "expires_at"),
        (#"{"replays":9223372036854775807}"#, .invalidMember, "replays"),
        (#"{"replays":-1}"#, .invalidMember, "replays"),
        (#"{"collection":null}"#, .invalidMember, "collection"),
        (#"{"envelope":[]}"#, .invalidMember, "envelope"),
        (
            #"{"received_at":1,"collection":"c","timestamp":1,"trusted":{},"envelope":{"event":"a"}}"#,
            .missingMember, "envelope.event_id"
        ),
        (
            #"{"received_at":1,"collection":"c","timestamp":1,"trusted":{},"envelope":{"event":7}}"#,
            .invalidMember, "envelope.event"
        ),
        (#"{"received_at":1,"received_at":1}"#, .repeatedMember, "received_at"),
        (#"{"trusted":{},"trusted":{"user_id":"u"}}"#, .repeatedMember, "trusted"),
        (#"{"envelope":{},"envel\u006fpe":{}}"#, .repeatedMember, "envelope"),
        (
            #"{"received_at":1,"collection":"c","timestamp":1,"trusted":{},"envelope":{"event":"a","event":"a"}}"#,
            .repeatedMember, "envelope.event"
        ),
    ])
    func `what is no record is named`(line: String, code: RecordError.Code, member: String) {
        #expect(throws: RecordError(code: code, member: member)) { try reading(line) { _ in } }
    }

    @Test(arguments: [
        #"{"segment":"s","frame":-1,"index":0}"#, #"{"segment":"s","frame":0,"index":-1}"#,
        #"{"segment":7,"frame":0,"index":0}"#, "{}",
    ])
    func `an origin that is no place is none`(origin: String) throws {
        try reading(full.replacing(#"{"segment":"s-1","frame":70,"index":3}"#, with: origin)) {
            #expect($0.origin == nil)
        }
    }
}

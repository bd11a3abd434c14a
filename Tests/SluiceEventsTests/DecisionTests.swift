// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import Testing

/// What the public contract leaves open, decided once: each decision of `EventJudge`'s documentation.
///
/// Cases C05, C06, C08, C10, C11, C14, C19 and C20.
struct DecisionTests {
    private let contract: Contract

    init() throws { contract = try Inputs.contract() }

    private func codes(_ names: String...) throws -> [String?] {
        try names.flatMap { Judged(try Inputs.bytes($0 + ".json"), by: contract).codes }
    }

    private func properties(_ json: String) -> String {
        Judged(Envelope(["properties": json]).body, by: contract).properties()
    }

    @Test func `U+0000 is refused wherever it would be kept`() throws {
        #expect(
            try codes("C06a-nul-value", "C06b-nul-event-name", "C06d-nul-ids")
                == ["invalid_property", "unsupported_event", "invalid_user_id"]
        )
        // Where nothing is kept it does no harm.
        #expect(Judged(Envelope(["properties": #"{"x\u0000":"\u0000"}"#]).body, by: contract).codes == [nil])
    }

    @Test func `other control characters stay in properties, escaped`() {
        #expect(properties(#"{"screen":"\u001b[31m\u0007"}"#) == #"{"screen":"\u001b[31m\u0007"}"#)
    }

    @Test func `half a surrogate pair refuses its own event only`() throws {
        #expect(
            try codes("C05a-high", "C05b-low", "C05c-in-key", "C05d-reversed")
                == Array(repeating: "invalid_json", count: 4)
        )
    }

    @Test func `numbers keep their text, so 1.0 never becomes 1`() {
        #expect(properties(#"{"count":1.0}"#) == #"{"count":1.0}"#)
        #expect(properties(#"{"count":1E5}"#) == #"{"count":1E5}"#)
    }

    @Test func `a whole number outside 64 bits refuses its event and is never rounded`() throws {
        #expect(properties(#"{"count":18446744073709551615}"#) == #"{"count":18446744073709551615}"#)
        #expect(try codes("C08d-30digits") == ["invalid_json"])
    }

    @Test func `seconds are whole only as written`() throws {
        #expect(
            try codes("C11a-float0", "C11b-float5", "C11c-exp") == Array(repeating: "invalid_occurred_at", count: 3)
        )
    }

    @Test func `no value stands for one of another type`() throws {
        #expect(
            try codes("C11d-string", "C11e-bool", "C11g-array", "C11i-user-number", "C11j-schema-string") == [
                "invalid_occurred_at", "invalid_occurred_at", "invalid_occurred_at", "invalid_user_id",
                "invalid_schema_version",
            ]
        )
    }

    @Test func `a listed property that is null, an object or a list refuses its event`() throws {
        #expect(
            try codes("C14a-object", "C14b-array", "C14c-null", "C14d-hidden")
                == Array(repeating: "invalid_property", count: 4)
        )
    }

    @Test func `missing and null properties count as empty ones`() throws {
        #expect(try codes("C14e-props-null", "C14h-props-empty", "C14i-props-missing") == [nil, nil, nil])
        #expect(properties("null") == "{}")
    }

    @Test func `an empty batch is accepted and leaves nothing behind`() throws {
        let judged = Judged(try Inputs.bytes("C19a-empty.json"), by: contract)
        #expect(judged.refusal == nil && judged.events.isEmpty && judged.records.isEmpty)
    }

    @Test func `a bad event costs no other, and the answer tells which it was`() throws {
        let judged = Judged(try Inputs.bytes("C20a-third-unknown.json"), by: contract)
        #expect(judged.codes == [nil, nil, "unsupported_event", nil, nil])
        #expect(judged.answer.contains(#""rejected":[{"index":2,"event_id":"00000000-0000-4000-8000-000000000003","#))
    }

    @Test func `elements that are no objects are bad events`() throws {
        #expect(
            try codes("C20d-non-objects") == [nil] + Array(repeating: "invalid_envelope", count: 4) + [nil]
        )
    }

    @Test func `two events of one batch with one id are both taken`() throws {
        let judged = Judged(try Inputs.bytes("C20e-same-id-twice.json"), by: contract)
        #expect(judged.records.count == 2)
        #expect(judged.records[0] != judged.records[1])
    }

    @Test func `depth is bounded in fields that nobody reads, too`() throws {
        #expect(Judged(try Inputs.bytes("C10b-nest600-ignored.json"), by: contract).refusal?.code == .invalidJSON)
        #expect(try codes("C10a-nest64-property") == ["invalid_json"])
    }
}

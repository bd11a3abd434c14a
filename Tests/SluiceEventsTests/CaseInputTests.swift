// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import SluiceSystem
import Testing

/// Bodies from real incidents, each with the verdict that the public contract demands.
///
/// Cases C05, C06, C07, C08, C10, C11, C14, C17, C18, C19 and C20.
struct CaseInputTests {
    /// The body as a whole is refused, with this code and at this byte.
    struct Refused: Sendable, CustomTestStringConvertible {
        var name: String
        var code: BatchRefusal.Code
        var byteOffset: Int?

        init(_ name: String, _ code: BatchRefusal.Code = .invalidJSON, at byteOffset: Int? = nil) {
            self.name = name
            self.code = code
            self.byteOffset = byteOffset
        }

        var testDescription: String { name }
    }

    /// Each event's code, nil for an accepted one.
    struct Taken: Sendable, CustomTestStringConvertible {
        var name: String
        var codes: [String?]
        var removed: [String] = []
        /// The stored properties of the first record.
        var properties: String?

        init(_ name: String, _ codes: String?..., removed: [String] = [], properties: String? = nil) {
            self.name = name
            self.codes = codes
            self.removed = removed
            self.properties = properties
        }

        var testDescription: String { name }
    }

    private static let home = #"{"count":1,"ok":true,"screen":"home"}"#

    private static let refused = [
        Refused("C06c-raw-nul", at: 307),
        Refused("C07a-c328", at: 306), Refused("C07b-in-key", at: 299), Refused("C07c-overlong", at: 306),
        Refused("C07d-surrogate", at: 306), Refused("C07e-cut-emoji", at: 306), Refused("C07f-latin1", at: 309),
        Refused("C10b-nest600-ignored", at: 68), Refused("C10c-nest511-ignored", at: 68), Refused("C10d-unclosed"),
        Refused("C17a-lead-comma", at: 12), Refused("C17b-no-comma", at: 333), Refused("C17c-two-commas", at: 334),
        Refused("C17d-holes", at: 11), Refused("C17e-nul-run", at: 334), Refused("C17f-joined", at: 335),
        Refused("C17g-after-end", at: 336), Refused("C17h-unclosed", at: 333),
        Refused("C18a-ndjson", at: 323), Refused("C18b-top-array", .invalidBatch), Refused("C18c-null", .invalidBatch),
        Refused("C18d-string", .invalidBatch), Refused("C18e-empty", at: 0), Refused("C18f-blank", at: 0),
        Refused("C18g-no-key", .invalidBatch), Refused("C18h-null-events", .invalidBatch),
        Refused("C18i-object-events", .invalidBatch), Refused("C18j-case", .invalidBatch),
        Refused("C18k-bare-envelope", .invalidBatch),
    ]

    @Test(arguments: refused)
    func `a body that is no batch is refused as a whole`(input: Refused) throws {
        let judged = Judged(try Inputs.bytes(input.name + ".json"), by: try Inputs.contract())
        #expect(judged.refusal?.code == input.code)
        #expect(judged.refusal?.status == 400)
        if let offset = input.byteOffset { #expect(judged.refusal?.byteOffset == offset) }
        #expect(judged.records.isEmpty)
        #expect(judged.events.isEmpty)
    }

    private static let taken = [
        Taken("C00-good-one", nil, properties: home),
        Taken("C00-good-three", nil, nil, nil, properties: home),
        Taken("C05a-high", "invalid_json"), Taken("C05b-low", "invalid_json"), Taken("C05c-in-key", "invalid_json"),
        Taken("C05d-reversed", "invalid_json"), Taken("C05f-cut-escape", "invalid_json"),
        Taken("C05e-good-pair", nil, properties: "{\"screen\":\"\u{1F600}\"}"),
        Taken("C06a-nul-value", "invalid_property"), Taken("C06b-nul-event-name", "unsupported_event"),
        Taken("C06d-nul-ids", "invalid_user_id"),
        Taken("C06e-controls", nil, properties: "{\"screen\":\"\\u001b[31m\\u0007\u{2028}\u{202E}\u{7F}\"}"),
        Taken("C08a-2p53p1", nil, properties: #"{"count":9007199254740993}"#),
        Taken("C08b-2p63m1", nil, properties: #"{"count":9223372036854775807}"#),
        Taken("C08c-2p63", nil, properties: #"{"count":9223372036854775808}"#),
        Taken("C08d-30digits", "invalid_json"),
        Taken("C08e-fraction", nil, properties: #"{"count":0.30000000000000004}"#),
        Taken("C08f-one-point-zero", nil, properties: #"{"count":1.0}"#),
        Taken("C08g-exp", nil, properties: #"{"count":1E5}"#),
        Taken("C10a-nest64-property", "invalid_json"),
        Taken("C11a-float0", "invalid_occurred_at"), Taken("C11b-float5", "invalid_occurred_at"),
        Taken("C11c-exp", "invalid_occurred_at"), Taken("C11d-string", "invalid_occurred_at"),
        Taken("C11e-bool", "invalid_occurred_at"), Taken("C11f-null", "invalid_occurred_at"),
        Taken("C11g-array", "invalid_occurred_at"), Taken("C11h-missing", "invalid_occurred_at"),
        Taken("C11i-user-number", "invalid_user_id"), Taken("C11j-schema-string", "invalid_schema_version"),
        Taken("C11k-empty-names", "unsupported_event", "invalid_event_id", "invalid_anonymous_id"),
        Taken("C11l-extra-field", nil, removed: ["surprise"], properties: home),
        Taken("C11m-case", "invalid_event_id"),
        Taken("C14a-object", "invalid_property"), Taken("C14b-array", "invalid_property"),
        Taken("C14c-null", "invalid_property"), Taken("C14d-hidden", "invalid_property"),
        Taken("C14e-props-null", nil, properties: "{}"), Taken("C14f-props-array", "invalid_properties"),
        Taken("C14g-props-string", "invalid_properties"), Taken("C14h-props-empty", nil, properties: "{}"),
        Taken("C14i-props-missing", nil, properties: "{}"),
        Taken("C19a-empty"),
        Taken("C20a-third-unknown", nil, nil, "unsupported_event", nil, nil, properties: home),
        Taken("C20b-first-bad-type", "invalid_occurred_at", nil, properties: home),
        Taken("C20c-all-bad", "unsupported_event", "unsupported_event"),
        Taken(
            "C20d-non-objects",
            nil,
            "invalid_envelope",
            "invalid_envelope",
            "invalid_envelope",
            "invalid_envelope",
            nil,
            properties: home
        ),
        Taken("C20e-same-id-twice", nil, nil, properties: home),
    ]

    @Test(arguments: taken)
    func `each event of a batch gets its own verdict`(input: Taken) throws {
        let judged = Judged(try Inputs.bytes(input.name + ".json"), by: try Inputs.contract())
        #expect(judged.refusal == nil)
        #expect(judged.codes == input.codes)
        #expect(judged.events.flatMap(\.removed) == input.removed)
        #expect(judged.records.count == input.codes.count { $0 == nil })
        if let properties = input.properties {
            #expect(judged.records.first?.hasSuffix(",\"properties\":\(properties)}}") == true)
        }
    }

    @Test func `every input has its verdict in one of the two tables`() throws {
        let names = try FileSystem.names(in: Inputs.folder).filter { $0.hasSuffix(".json") }
        #expect((Self.refused.map(\.name) + Self.taken.map(\.name)).map { $0 + ".json" }.sorted() == names)
    }

    @Test(arguments: ["C05a-high", "C08d-30digits", "C10a-nest64-property"])
    func `a value that cannot be kept costs only its own event`(name: String) throws {
        let text = String(decoding: try Inputs.bytes(name + ".json"), as: UTF8.self)
        let bad = text.dropFirst(#"{"events":["#.count).dropLast(2)
        let good = Envelope(["event_id": #""good""#]).text
        let judged = Judged(Array("{\"events\":[\(good),\(bad),\(good)]}".utf8), by: try Inputs.contract())
        #expect(judged.codes == [nil, "invalid_json", nil])
        #expect(judged.records.count == 2)
        #expect(judged.events[1].detail.contains(" at byte "))
    }
}

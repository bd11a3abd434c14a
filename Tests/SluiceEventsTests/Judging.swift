// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceEvents
import SluiceSystem
import Testing

/// What came of a body, in a form that tests can read.
struct Judged {
    struct Event: Equatable {
        var outcome: EventVerdict.Outcome
        var code: String?
        var id: String
        var detail = ""
        var removed: [String] = []
        var event = -1
    }

    var events: [Event] = []
    var records: [String] = []
    var refusal: BatchRefusal?
    var answer = ""
    var unprovenUsers = 0
    var userMismatches = 0
    var clamped = 0
    var unknownBatchFields = 0
    var drops = ClientDrops()

    /// The code of each event, nil for an accepted one.
    var codes: [String?] { events.map(\.code) }

    /// One record as an object.
    func record(_ index: Int = 0) throws -> [String: Any] {
        try #require(index < records.count, "no such record")
        let object = try JSONSerialization.jsonObject(with: Data(records[index].utf8))
        return try #require(object as? [String: Any])
    }

    /// The text of a record's properties.
    func properties(_ index: Int = 0) -> String {
        guard index < records.count, let place = records[index].range(of: #""properties":"#) else { return "" }
        return String(records[index][place.upperBound...].dropLast(2))
    }

    func part(_ name: String, _ index: Int = 0) throws -> [String: Any] {
        try #require(try record(index)[name] as? [String: Any])
    }

    init() {}

    init(
        _ body: [UInt8],
        by contract: Contract,
        under admission: Admission = .phone,
        limits: EventLimits = EventLimits(),
        asLine: Bool = false
    ) {
        var judge = EventJudge(limits: limits)
        self.init(body, judge: &judge, by: contract, under: admission, asLine: asLine)
    }

    init(
        _ body: [UInt8],
        judge: inout EventJudge,
        by contract: Contract,
        under admission: Admission = .phone,
        asLine: Bool = false
    ) {
        var input = ByteBuffer()
        input.append(body)
        var lines = ByteBuffer()
        var verdict = BatchVerdict()
        if asLine {
            refusal = judge.judge(
                line: input.bytes,
                under: admission,
                by: contract,
                records: &lines,
                verdict: &verdict
            )
        } else {
            do throws(BatchRefusal) {
                try judge.judge(input.bytes, under: admission, by: contract, records: &lines, verdict: &verdict)
            } catch {
                refusal = error
            }
        }
        for event in verdict.events {
            let first = Int(event.firstRemoved)
            let names = verdict.removedNames[first..<first + Int(event.removedCount)].map { verdict.string($0) }
            events.append(
                Event(
                    outcome: event.outcome,
                    code: event.outcome == .accepted ? nil : "\(event.code.text)",
                    id: verdict.string(event.id),
                    detail: verdict.string(event.detail),
                    removed: names,
                    event: Int(event.event)
                )
            )
        }
        records = String(decoding: lines.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        var answer = ByteBuffer()
        verdict.appendAnswer(requestID: "r", to: &answer)
        self.answer = String(decoding: answer.bytes, as: UTF8.self)
        unprovenUsers = verdict.unprovenUsers
        userMismatches = verdict.userMismatches
        clamped = verdict.clamped
        unknownBatchFields = verdict.unknownBatchFields
        drops = verdict.clientDrops
    }
}

extension Admission {
    /// A phone that nobody knows, five seconds after the sample event.
    static let phone = Admission(receivedAt: 1_796_000_010, collection: "mobile_events")
    /// A server of one's own.
    static let server = Admission(receivedAt: 1_796_000_010, collection: "mobile_events", isServer: true)
}

extension Contract {
    /// A contract from JSON5 text, for tests.
    convenience init(_ text: String) throws {
        try self.init(parsing: Array(text.utf8), file: "contract.json5")
    }
}

/// One event as a client sends it; fields can be replaced by other JSON text or left out.
struct Envelope {
    var fields: [(name: String, json: String)] = [
        ("event", #""screen_view""#), ("event_id", #""e-1""#), ("occurred_at", "1796000000"),
        ("client_sent_at", "1796000005"), ("anonymous_id", #""anon-1""#), ("user_id", "null"),
        ("session_id", #""sess-1""#), ("app_version", #""1.2.3""#), ("build_number", #""45""#),
        ("platform", #""ios""#), ("schema_version", "1"), ("properties", #"{"screen":"home","count":1,"ok":true}"#),
    ]

    /// - Parameter changes: JSON text by field; nil leaves the field out, a new name is added at the end.
    init(_ changes: KeyValuePairs<String, String?> = [:]) {
        for (name, json) in changes {
            if let index = fields.firstIndex(where: { $0.name == name }) {
                if let json { fields[index].json = json } else { fields.remove(at: index) }
            } else if let json {
                fields.append((name, json))
            }
        }
    }

    var text: String { "{" + fields.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}" }
    var body: [UInt8] { Array("{\"events\":[\(text)]}".utf8) }
}

/// A body of several envelopes.
func body(_ envelopes: Envelope...) -> [UInt8] {
    Array(("{\"events\":[" + envelopes.map(\.text).joined(separator: ",") + "]}").utf8)
}

enum Inputs {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Inputs").path()

    static func bytes(_ name: String) throws -> [UInt8] {
        try FileSystem.contents(of: folder + "/" + name, limit: 1 << 20)
    }

    static func contract() throws -> Contract { try Contract(file: folder + "/contract.json5") }
}

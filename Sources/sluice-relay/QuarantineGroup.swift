// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceJSON
import SluiceSpool
import SluiceSystem

/// What records in quarantine are told apart by: reason, event and release.
struct QuarantineKey: Hashable {
    var reason: String
    var event: String
    /// `app_version` and `build_number`.
    var version: String
    var build: String

    init(_ item: QuarantineItem) {
        reason = item.reason
        event = item.event
        version = item.envelopeText("app_version")
        build = item.envelopeText("build_number")
    }

    /// `4.3.0 (813)`; empty for what has no release.
    var release: String { build.isEmpty ? version : "\(version) (\(build))" }

    /// `unsupported_event, event chat_opened, release 4.3.0 (813)`.
    var text: String {
        var parts = [reason]
        if !event.isEmpty { parts.append("event \(event)") }
        if !release.isEmpty { parts.append("release \(release)") }
        return parts.map { TextTable.printable($0) }.joined(separator: ", ")
    }

    var members: [(name: String, value: JSONLine.Value)] {
        [
            ("reason", .string(reason)), ("event", .string(event)), ("release", .string(version)),
            ("build", .string(build)),
        ]
    }

    static func precedes(_ left: QuarantineKey, _ right: QuarantineKey) -> Bool {
        [left.reason, left.event, left.version, left.build].lexicographicallyPrecedes(
            [right.reason, right.event, right.version, right.build]
        )
    }
}

/// Records in quarantine that have something in common.
struct QuarantineGroup {
    private(set) var records = 0
    private var oldest = Int.max
    private var newest = 0
    private var replays = 0

    static let titles = ["replays", "oldest", "newest"]

    mutating func add(_ item: QuarantineItem) {
        records += item.records
        oldest = min(oldest, item.quarantinedAt)
        newest = max(newest, item.quarantinedAt)
        replays = max(replays, item.replays)
    }

    var cells: [String] {
        [String(replays), CalendarTime.text(seconds: oldest), CalendarTime.text(seconds: newest)]
    }

    var members: [(name: String, value: JSONLine.Value)] {
        [
            ("records", .integer(records)), ("replays", .integer(replays)), ("oldest", .integer(oldest)),
            ("newest", .integer(newest)),
        ]
    }
}

/// A JSON object in one line.
struct JSONLine {
    indirect enum Value {
        case string(String)
        case integer(Int)
        case boolean(Bool)
        case null
        case list([Value])
        case object([(name: String, value: Value)])
    }

    /// The line without its end.
    static func text(_ members: [(name: String, value: Value)]) -> String {
        var buffer = ByteBuffer()
        append(.object(members), to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private static func append(_ value: Value, to buffer: inout ByteBuffer) {
        switch value {
        case .string(let text): buffer.append(jsonString: text)
        case .integer(let number): buffer.append(decimal: number)
        case .boolean(let isTrue): buffer.append(isTrue ? "true" : "false")
        case .null: buffer.append("null")
        case .list(let values):
            buffer.append("[")
            for (index, value) in values.enumerated() {
                if index > 0 { buffer.append(",") }
                append(value, to: &buffer)
            }
            buffer.append("]")
        case .object(let members):
            buffer.append("{")
            for (index, member) in members.enumerated() {
                if index > 0 { buffer.append(",") }
                buffer.append(jsonString: member.name)
                buffer.append(":")
                append(member.value, to: &buffer)
            }
            buffer.append("}")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import SluiceJSON
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

/// A record of the model: its line in the spool and the event that must come of it, byte for byte.
///
/// The serial number is its time of receipt, so every line and every event tells whose it is.
package struct ModelRecord: Sendable {
    package enum Kind: Hashable, Sendable, CaseIterable {
        case plain
        /// The same event as an earlier record.
        case twin
        /// GraphJSON refuses it while the upstream's policy says so.
        case refused
        /// Set aside at admission.
        case setAside
        /// Past its time.
        case expired
        /// No record at all.
        case malformed
    }

    static let firstSecond = 1_790_000_000

    package let serial: Int
    /// The serial number of the first record with this event.
    package let event: Int
    package let kind: Kind
    /// Without line feed.
    package let line: String
    package let eventText: String

    init(serial: Int, kind: Kind, twinOf first: ModelRecord? = nil, random: inout SeededGenerator) {
        self.serial = serial
        self.kind = kind
        event = first?.event ?? serial
        let receivedAt = Self.firstSecond + serial
        if kind == .malformed {
            line = "no record, serial \(receivedAt)"
            eventText = ""
            return
        }
        let timestamp = Self.firstSecond + event % 3
        let padding = String(repeating: "p\(event)", count: 1 + event * 7 % 13)
        let name = kind == .refused ? "refused" : "taken"
        let head =
            #""event":"\#(name)","event_id":"e-\#(event)","occurred_at":\#(timestamp),"anonymous_id":"\#(Self.person(of: event))","#
            + #""session_id":"s","app_version":"1","build_number":"1","platform":"ios","schema_version":1"#
        let properties = #""padding":"\#(padding)""#
        let quarantine = kind == .setAside ? #""quarantine":{"reason":"unsupported_event","detail":"model"},"# : ""
        let expiry = kind == .expired ? #""expires_at":\#(Self.firstSecond),"# : ""
        line =
            #"{"received_at":\#(receivedAt),"collection":"c","timestamp":\#(timestamp),\#(expiry)\#(quarantine)"#
            + #""trusted":{},"envelope":{\#(head),"properties":{\#(properties)}}}"#
        eventText = #"{\#(head),"received_at":\#(receivedAt),\#(properties)}"#
    }

    /// Whom an event is about.
    static func person(of event: Int) -> String { "anonymous-\(event)" }

    /// The line that a quarantine entry keeps, without what a replay put in front; nil for damage.
    static func line(in item: QuarantineItem) -> String? {
        if let bytes = item.record {
            let line = String(decoding: bytes, as: UTF8.self)
            guard line.hasPrefix(#"{"origin":"#), let start = line.utf8.firstRange(of: #""received_at""#.utf8) else {
                return line
            }
            return "{" + line[start.lowerBound...]
        }
        // What is no JSON object.
        guard let token = item.document.value(of: "line_base64", in: 0),
            let bytes = Data(base64Encoded: item.document.string(item.document[token]))
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The same of a line that may be a quarantine entry of something that is no JSON object.
    static func serial(inEntry line: Substring) -> Int? {
        let marker = #""line_base64":""#
        guard let start = line.utf8.firstRange(of: marker.utf8)?.upperBound,
            let bytes = Data(base64Encoded: String(line[start...].prefix { $0 != "\"" }))
        else { return serial(in: line) }
        return serial(in: String(decoding: bytes, as: UTF8.self))
    }

    /// The serial number that stands in a line or in an event's text; nil when there is none.
    static func serial(in text: some StringProtocol) -> Int? {
        for marker in [#""received_at":"#, "no record, serial "] {
            guard let start = text.utf8.firstRange(of: marker.utf8)?.upperBound else { continue }
            return Int(text[start...].prefix { $0.isASCII && $0.isNumber }).map { $0 - firstSecond }
        }
        return nil
    }
}

/// All records of a campaign's run, by serial number.
package final class ModelRecords: Sendable {
    private let records = Lock<[ModelRecord]>([])
    private let erased = Lock<Set<Int>>([])

    package init() {}

    /// Notes that a person is erased whom an event is about; workers that know no list leave it alone.
    func erase(_ event: Int) { erased.withLock { _ = $0.insert(event) } }

    func isErased(_ event: Int) -> Bool { erased.withLock { $0.contains(event) } }

    var count: Int { records.withLock { $0.count } }

    subscript(serial: Int) -> ModelRecord? {
        records.withLock { $0.indices.contains(serial) ? $0[serial] : nil }
    }

    func make(_ kind: ModelRecord.Kind, random: inout SeededGenerator) -> ModelRecord {
        let known = records.withLock { $0 }
        let first = known.filter { $0.kind == .plain }.randomElement(using: &random)
        let kind = kind == .twin && first == nil ? .plain : kind
        let record = ModelRecord(
            serial: known.count,
            kind: kind,
            twinOf: kind == .twin ? first : nil,
            random: &random
        )
        records.withLock { $0.append(record) }
        return record
    }
}

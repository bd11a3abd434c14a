// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import SluiceJSON
package import SluiceSystem

/// The facts beside a record in quarantine, or about bytes that could not be read.
///
/// On disk a line of JSON; the record follows as the last member, byte for byte as it was spooled:
/// `{"quarantined_at":s,"reason":"…","detail":"…","status":400,"attempts":2,"origin":{…},"replays":0,"record":{…}}`.
/// For a damaged range `"offset"`, `"length"` and `"records"` stand in the record's place; for a line that is no JSON
/// object, `"line_base64"`.
package struct QuarantineEntry: Hashable, Sendable {
    /// Bytes of a segment that could not be read; they are kept in `quarantine/<segment>.damaged` at the same offset.
    package struct Damage: Hashable, Sendable {
        package var offset: Int
        package var length: Int
        /// Records that were lost to it, as far as anybody can tell.
        package var records: Int

        package init(offset: Int, length: Int, records: Int) {
            self.offset = offset
            self.length = length
            self.records = records
        }
    }

    /// The reason of damaged ranges.
    package static let damagedReason = "damaged"
    /// The reason of an incomplete frame at the end, which nobody was told was taken.
    package static let tornTailReason = "torn_tail"
    /// Longest detail in bytes.
    package static let maximumDetailBytes = 1024

    /// Unix seconds.
    package var quarantinedAt: Int
    /// A word from a fixed list, such as `upstream_rejected`.
    package var reason: String
    /// What was found, such as an excerpt of an answer.
    package var detail: String
    /// HTTP status, where there was one.
    package var status: Int?
    /// How often it was tried to deliver the record.
    package var attempts: Int
    package var origin: RecordOrigin
    /// How often the record came back from quarantine.
    package var replays: Int
    package var damage: Damage?

    package init(
        quarantinedAt: Int,
        reason: String,
        detail: String,
        status: Int? = nil,
        attempts: Int = 0,
        origin: RecordOrigin,
        replays: Int = 0,
        damage: Damage? = nil
    ) {
        self.quarantinedAt = quarantinedAt
        self.reason = reason
        self.detail = detail
        self.status = status
        self.attempts = attempts
        self.origin = origin
        self.replays = replays
        self.damage = damage
    }

    /// Records that it stands for.
    package var records: Int { damage?.records ?? 1 }

    /// Appends the line.
    ///
    /// * `record`: the record's bytes without line feed; nil for damage.
    /// * `isObject`: whether these bytes are a JSON object; any others are kept in base64.
    package func append(to buffer: inout ByteBuffer, record: UnsafeRawBufferPointer?, isObject: Bool = true) {
        buffer.append(#"{"quarantined_at":"#)
        buffer.append(decimal: quarantinedAt)
        buffer.append(#","reason":"#)
        buffer.append(jsonString: reason)
        buffer.append(#","detail":"#)
        appendDetail(to: &buffer)
        if let status {
            buffer.append(#","status":"#)
            buffer.append(decimal: status)
        }
        buffer.append(#","attempts":"#)
        buffer.append(decimal: attempts)
        buffer.append(#","origin":"#)
        origin.append(to: &buffer)
        buffer.append(#","replays":"#)
        buffer.append(decimal: replays)
        if let damage {
            buffer.append(#","offset":"#)
            buffer.append(decimal: damage.offset)
            buffer.append(#","length":"#)
            buffer.append(decimal: damage.length)
            buffer.append(#","records":"#)
            buffer.append(decimal: damage.records)
        }
        if let record, isObject {
            buffer.append(#","record":"#)
            buffer.append(record)
        } else if let record {
            buffer.append(#","line_base64":""#)
            buffer.append(Data(record).base64EncodedString())
            buffer.append("\"")
        }
        buffer.append("}\n")
    }

    /// Cut between characters, not inside one.
    private func appendDetail(to buffer: inout ByteBuffer) {
        var detail = detail
        detail.withUTF8 { text in
            var length = min(text.count, Self.maximumDetailBytes)
            while length < text.count && length > 0 && text[length] & 0xC0 == 0x80 { length -= 1 }
            buffer.append(jsonString: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[..<length]))
        }
    }
}

/// One line of a quarantine file, while it is being read.
package struct QuarantineItem {
    /// The file that it stands in.
    package let file: SegmentName
    /// The whole line, without line feed.
    package let line: UnsafeRawBufferPointer
    /// The parsed line, the entry at token 0; valid until the next item.
    package let document: JSONDocument
    package let origin: RecordOrigin
    /// Token of the record; nil for damage and for a line that is no JSON object.
    package let recordToken: Int?
    /// Records that it stands for.
    package let records: Int
    private let damage: QuarantineEntry.Damage?

    /// - Returns: nil when the line is no entry.
    package init?(file: SegmentName, line: UnsafeRawBufferPointer, document: JSONDocument) {
        guard let origin = document.value(of: "origin", in: 0).flatMap({ RecordOrigin(document, at: $0) }),
            let reason = document.value(of: "reason", in: 0), document[reason].kind == .string
        else { return nil }
        self.file = file
        self.line = line
        self.document = document
        self.origin = origin
        if let record = document.value(of: "record", in: 0) {
            guard document[record].kind == .object else { return nil }
            recordToken = record
            records = 1
            damage = nil
        } else if let line = document.value(of: "line_base64", in: 0) {
            guard document[line].kind == .string else { return nil }
            recordToken = nil
            records = 1
            damage = nil
        } else {
            guard let damage = QuarantineEntry.Damage(document) else { return nil }
            recordToken = nil
            records = damage.records
            self.damage = damage
        }
    }

    /// The record's bytes as they were spooled; nil for damage.
    package var record: UnsafeRawBufferPointer? { recordToken.map { document.raw(document[$0]) } }

    /// The reason's text.
    package var reason: String { text("reason") }

    /// The event's name; empty when there is none.
    package var event: String {
        guard let recordToken, let envelope = document.value(of: "envelope", in: recordToken),
            let event = document.value(of: "event", in: envelope), document[event].kind == .string
        else { return "" }
        return document.string(document[event])
    }

    package var quarantinedAt: Int { integer("quarantined_at") ?? 0 }
    package var replays: Int { min(max(0, integer("replays") ?? 0), 1_000_000_000) }

    /// All facts.
    package var entry: QuarantineEntry {
        QuarantineEntry(
            quarantinedAt: quarantinedAt,
            reason: reason,
            detail: text("detail"),
            status: integer("status"),
            attempts: integer("attempts") ?? 0,
            origin: origin,
            replays: replays,
            damage: damage
        )
    }

    private func text(_ key: StaticString) -> String {
        guard let index = document.value(of: key, in: 0), document[index].kind == .string else { return "" }
        return document.string(document[index])
    }

    private func integer(_ key: StaticString) -> Int? {
        document.value(of: key, in: 0).flatMap { document.integer(document[$0]) }
    }
}

extension QuarantineEntry.Damage {
    /// The most bytes and records that one entry is believed to stand for; the sum over all of them is still a number.
    private static let mostBytes = 1_000_000_000_000_000
    package static let mostRecords = 1_000_000_000_000

    /// Reads the range of the entry at token 0; nil when it is none of a file.
    fileprivate init?(_ document: JSONDocument) {
        func number(_ key: StaticString, _ limit: Int) -> Int? {
            guard let index = document.value(of: key, in: 0), let number = document.integer(document[index]),
                (0...limit).contains(number)
            else { return nil }
            return number
        }
        guard let offset = number("offset", Self.mostBytes), let length = number("length", Self.mostBytes),
            let records = number("records", Self.mostRecords)
        else { return nil }
        self.init(offset: offset, length: length, records: records)
    }
}

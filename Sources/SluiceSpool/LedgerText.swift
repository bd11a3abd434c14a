// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// The text of the ledger's lines: `seconds kind [name] key=value … checksum`.
///
/// The checksum is the XXH3-64 of everything before its space, in sixteen hex digits. Keys that a reader does not know
/// are skipped, and so are kinds.
enum LedgerText {
    static func append(_ event: LedgerEvent, at seconds: Int, to buffer: inout ByteBuffer) {
        let start = buffer.count
        buffer.append(decimal: seconds)
        switch event {
        case .sealed(let sealed):
            buffer.append(" sealed ")
            buffer.append(sealed.segment.text)
            append("records", sealed.records, to: &buffer)
            append("exact", sealed.isExact ? 1 : 0, to: &buffer)
            append("replay", sealed.isReplay ? 1 : 0, to: &buffer)
        case .finished(let finished):
            buffer.append(" finished ")
            buffer.append(finished.segment.text)
            append(finished.counts, to: &buffer)
            append("torn", finished.tornTails, to: &buffer)
        case .moved(let move):
            buffer.append(" \(move.kind.rawValue) ")
            buffer.append(move.source.text)
            append("records", move.taken, to: &buffer)
            if let segment = move.segment { buffer.append(" segment=\(segment.text)") }
            if let rest = move.rest { buffer.append(" rest=\(rest.text)") }
            append("rest_records", move.restRecords, to: &buffer)
            if let number = move.userNumber { append("by", number, to: &buffer) }
        case .audit(let audit):
            buffer.append(" audit \(encoded(audit.action))")
            append("records", audit.records, to: &buffer)
            append("by", audit.userNumber, to: &buffer)
            buffer.append(" user=\(encoded(audit.userName)) selection=\(encoded(audit.selection))")
        case .totals(let totals):
            buffer.append(" totals")
            append("accepted", totals.accepted, to: &buffer)
            append(totals.counts, to: &buffer)
            append("torn", totals.tornTails, to: &buffer)
            append("segments", totals.segments, to: &buffer)
            append("taken", totals.takenFromQuarantine, to: &buffer)
            append("forgotten_writers", totals.forgottenWriters, to: &buffer)
            append("kept_bytes", totals.keptBytes, to: &buffer)
        case .writer(let mark):
            buffer.append(" writer")
            buffer.append(" id=\(SegmentName.writerText(mark.writer)) next=\(mark.next)")
            append("last", mark.lastMilliseconds, to: &buffer)
            for range in mark.missing.ranges { buffer.append(" missing=\(range.lowerBound)-\(range.upperBound)") }
        }
        let sum = Checksum.xxh3(UnsafeRawBufferPointer(rebasing: buffer.bytes[start...]))
        buffer.append(" \(SegmentName.writerText(sum))\n")
    }

    private static func append(_ key: StaticString, _ value: Int, to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: " "))
        buffer.append(key)
        buffer.append(UInt8(ascii: "="))
        buffer.append(decimal: value)
    }

    private static func append(_ counts: OutcomeCounts, to buffer: inout ByteBuffer) {
        append("delivered", counts.delivered, to: &buffer)
        append("duplicate", counts.duplicate, to: &buffer)
        append("expired", counts.expired, to: &buffer)
        append("discarded", counts.discarded, to: &buffer)
        append("erased", counts.erased, to: &buffer)
        append("quarantined", counts.quarantined, to: &buffer)
        append("damaged", counts.damaged, to: &buffer)
    }

    /// Text as one field: whatever is not plain is `%` and two digits.
    private static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8.prefix(1000) {
            let scalar = UnicodeScalar(byte)
            let isPlain = scalar.properties.isAlphabetic && byte < 0x80 || "0123456789-_.:,=".utf8.contains(byte)
            result += isPlain ? String(scalar) : "%" + SegmentName.writerText(UInt64(byte)).suffix(2)
        }
        return result
    }

    private static func decoded(_ field: LedgerFields.Field) -> String {
        var bytes: [UInt8] = []
        var index = 0
        while index < field.bytes.count {
            if field.bytes[index] == UInt8(ascii: "%"), index + 2 < field.bytes.count,
                let high = SegmentName.hexadecimalDigit(field.bytes[index + 1]),
                let low = SegmentName.hexadecimalDigit(field.bytes[index + 2])
            {
                bytes.append(UInt8(high << 4 | low))
                index += 3
            } else {
                bytes.append(field.bytes[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    enum Line {
        case event(LedgerEvent, at: Int)
        /// It verifies and is of a later version.
        case unknownKind
        case invalid
    }

    /// Reads a line without its line feed.
    static func parse(_ line: UnsafeRawBufferPointer) -> Line {
        let length = line.count - 17
        guard length > 0, line[length] == UInt8(ascii: " ") else { return .invalid }
        var sum: UInt64 = 0
        for index in (length + 1)..<line.count {
            guard let digit = SegmentName.hexadecimalDigit(line[index]) else { return .invalid }
            sum = sum << 4 | digit
        }
        let content = UnsafeRawBufferPointer(rebasing: line[..<length])
        guard Checksum.xxh3(content) == sum else { return .invalid }
        var fields = LedgerFields(content)
        guard let seconds = fields.next()?.integer, let kind = fields.next() else { return .invalid }
        guard let event = event(kind, &fields) else { return .unknownKind }
        return event.canBeCounted ? .event(event, at: seconds) : .invalid
    }

    /// - Returns: nil for a kind or a form that this version does not know.
    private static func event(_ kind: LedgerFields.Field, _ fields: inout LedgerFields) -> LedgerEvent? {
        if kind.isText("sealed") {
            guard let segment = fields.next()?.segment else { return nil }
            var sealed = SealedSegment(segment: segment, records: 0, isExact: true, isReplay: false)
            while let field = fields.next() {
                if let value = field.integer(of: "records") { sealed.records = value }
                if let value = field.integer(of: "exact") { sealed.isExact = value != 0 }
                if let value = field.integer(of: "replay") { sealed.isReplay = value != 0 }
            }
            return .sealed(sealed)
        }
        if kind.isText("finished") {
            guard let segment = fields.next()?.segment else { return nil }
            var finished = FinishedSegment(segment: segment, counts: OutcomeCounts(), tornTails: 0)
            while let field = fields.next() {
                if field.read(into: &finished.counts) { continue }
                if let value = field.integer(of: "torn") { finished.tornTails = value }
            }
            return .finished(finished)
        }
        if kind.isText("audit") { return audit(&fields) }
        if kind.isText("totals") { return .totals(totals(&fields)) }
        if kind.isText("writer") { return writer(&fields) }
        for move in QuarantineMove.Kind.allCases where kind.isText(move.rawValue) {
            return self.move(move, &fields)
        }
        return nil
    }

    private static func move(_ kind: QuarantineMove.Kind, _ fields: inout LedgerFields) -> LedgerEvent? {
        guard let source = fields.next()?.segment else { return nil }
        var move = QuarantineMove(kind: kind, source: source, taken: 0, segment: nil, rest: nil, restRecords: 0)
        while let field = fields.next() {
            if let value = field.integer(of: "records") { move.taken = value }
            if let value = field.value(of: "segment") { move.segment = value.segment }
            if let value = field.value(of: "rest") { move.rest = value.segment }
            if let value = field.integer(of: "rest_records") { move.restRecords = value }
            if let value = field.integer(of: "by") { move.userNumber = value }
        }
        return .moved(move)
    }

    private static func audit(_ fields: inout LedgerFields) -> LedgerEvent? {
        guard let action = fields.next() else { return nil }
        var audit = LedgerAudit(action: decoded(action), records: 0, userNumber: 0, userName: "", selection: "")
        while let field = fields.next() {
            if let value = field.integer(of: "records") { audit.records = value }
            if let value = field.integer(of: "by") { audit.userNumber = value }
            if let value = field.value(of: "user") { audit.userName = decoded(value) }
            if let value = field.value(of: "selection") { audit.selection = decoded(value) }
        }
        return .audit(audit)
    }

    private static func totals(_ fields: inout LedgerFields) -> LedgerTotals {
        var totals = LedgerTotals()
        while let field = fields.next() {
            if field.read(into: &totals.counts) { continue }
            if let value = field.integer(of: "accepted") { totals.accepted = value }
            if let value = field.integer(of: "torn") { totals.tornTails = value }
            if let value = field.integer(of: "segments") { totals.segments = value }
            if let value = field.integer(of: "taken") { totals.takenFromQuarantine = value }
            if let value = field.integer(of: "forgotten_writers") { totals.forgottenWriters = value }
            if let value = field.integer(of: "kept_bytes") { totals.keptBytes = value }
        }
        return totals
    }

    private static func writer(_ fields: inout LedgerFields) -> LedgerEvent? {
        var mark = WriterMark(writer: 0, next: 0, lastMilliseconds: 0)
        var end: UInt64 = 0
        while let field = fields.next() {
            if let value = field.value(of: "id") {
                guard let writer = UInt64(value.text, radix: 16) else { return nil }
                mark.writer = writer
            }
            if let value = field.value(of: "next") {
                guard let next = UInt64(value.text) else { return nil }
                mark.next = next
            }
            if let value = field.integer(of: "last") { mark.lastMilliseconds = value }
            if let value = field.value(of: "missing") {
                let bounds = value.text.split(separator: "-").compactMap { UInt64($0) }
                guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
                mark.missing.insert(contentsOf: bounds[0]..<bounds[1])
                end = max(end, bounds[1])
            }
        }
        // What is missing lies before what was seen.
        return end <= mark.next ? .writer(mark) : nil
    }
}

/// The fields of a ledger line, one after the other, without a text for each.
struct LedgerFields {
    struct Field {
        let bytes: UnsafeRawBufferPointer

        var text: String { String(decoding: bytes, as: UTF8.self) }
        var segment: SegmentName? { SegmentName(bytes: bytes) }

        var integer: Int? {
            guard !bytes.isEmpty, bytes.count <= 18 else { return nil }
            var value = 0
            for byte in bytes {
                let digit = byte &- UInt8(ascii: "0")
                guard digit < 10 else { return nil }
                value = value * 10 + Int(digit)
            }
            return value
        }

        func isText(_ text: StaticString) -> Bool {
            bytes.count == text.utf8CodeUnitCount && begins(with: text)
        }

        /// The bytes are at least as many.
        private func begins(with text: StaticString) -> Bool {
            guard let start = bytes.baseAddress else { return false }
            return memcmp(start, text.utf8Start, text.utf8CodeUnitCount) == 0
        }

        func isText(_ text: String) -> Bool { bytes.elementsEqual(text.utf8) }

        /// What stands behind `key=`.
        func value(of key: StaticString) -> Field? {
            let length = key.utf8CodeUnitCount
            guard bytes.count > length, bytes[length] == UInt8(ascii: "="), begins(with: key) else { return nil }
            return Field(bytes: UnsafeRawBufferPointer(rebasing: bytes[(length + 1)...]))
        }

        func integer(of key: StaticString) -> Int? { value(of: key)?.integer }

        /// - Returns: whether the field is one of the counts.
        func read(into counts: inout OutcomeCounts) -> Bool {
            if let value = integer(of: "delivered") {
                counts.delivered = value
            } else if let value = integer(of: "duplicate") {
                counts.duplicate = value
            } else if let value = integer(of: "expired") {
                counts.expired = value
            } else if let value = integer(of: "discarded") {
                counts.discarded = value
            } else if let value = integer(of: "erased") {
                counts.erased = value
            } else if let value = integer(of: "quarantined") {
                counts.quarantined = value
            } else if let value = integer(of: "damaged") {
                counts.damaged = value
            } else {
                return false
            }
            return true
        }
    }

    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    mutating func next() -> Field? {
        guard let start = rest.baseAddress, !rest.isEmpty else { return nil }
        var length = 0
        while length < rest.count && rest[length] != UInt8(ascii: " ") { length += 1 }
        let field = Field(bytes: UnsafeRawBufferPointer(start: start, count: length))
        rest = UnsafeRawBufferPointer(rebasing: rest[min(rest.count, length + 1)...])
        return field
    }
}

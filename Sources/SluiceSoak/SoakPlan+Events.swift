// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// What the events look like: posted by a client, and as GraphJSON must get them.
extension SoakPlan {
    /// Seconds after which an event of low durability may be dropped.
    package static let expirySeconds = 20

    /// The contract of these events, JSON5.
    package static let contract = """
        {
          contract_version: "soak-1",
          schema_versions: { min: 1, max: 1 },
          platforms: ["ios", "android"],
          experiments: ["layout"],
          events: {
            report_exported: { properties: {
              digest: { type: "string", max_length: 16 }, count: { type: "number" }, ratio: { type: "number" },
              title: { type: "string", max_length: 200 }, is_shared: { type: "boolean" },
            } },
            note_saved: { properties: {
              digest: { type: "string", max_length: 16 }, text: { type: "string", max_length: 8000 },
            } },
            screen_viewed: { durability: "low", expires_after_s: \(expirySeconds), properties: {
              digest: { type: "string", max_length: 16 }, title: { type: "string", max_length: 200 },
            } },
          },
        }
        """

    // MARK: Names

    private static let idPrefix: StaticString = "soak-"
    /// Bytes of an event_id: prefix, eight digits of the seed, a dash, twelve of the number.
    package static let idBytes = 26

    package func appendID(_ number: Int, to buffer: inout ByteBuffer) {
        buffer.append(Self.idPrefix)
        buffer.append(hexadecimal: seed & 0xFFFF_FFFF, digits: 8)
        buffer.append(UInt8(ascii: "-"))
        buffer.append(hexadecimal: UInt64(number), digits: 12)
    }

    package func id(_ number: Int) -> String {
        var buffer = ByteBuffer(capacity: 64)
        appendID(number, to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// The number in an event_id; nil when it is none of this soak.
    package func number(ofID id: UnsafeRawBufferPointer) -> Int? {
        guard id.count == Self.idBytes, id.prefix(5).elementsEqual("soak-".utf8),
            Self.hexadecimal(id[5..<13]) == seed & 0xFFFF_FFFF, id[13] == UInt8(ascii: "-"),
            let number = Self.hexadecimal(id[14...]), number < UInt64(capacity)
        else { return nil }
        return Int(number)
    }

    /// The number of the event in a spooled record's line; nil when there is none of this soak.
    package func number(inLine line: UnsafeRawBufferPointer) -> Int? {
        guard let start = line.firstOffset(of: Self.idMember) else { return nil }
        let id = start + Self.idMember.count
        guard id + Self.idBytes <= line.count else { return nil }
        return number(ofID: UnsafeRawBufferPointer(rebasing: line[id..<id + Self.idBytes]))
    }

    private static let idMember = Array(#""event_id":""#.utf8)

    private static func hexadecimal(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return value
    }

    // MARK: Events

    /// Appends the envelope that a client posts.
    package func appendEnvelope(_ number: Int, to buffer: inout ByteBuffer) {
        let bits = bits(of: number)
        buffer.append("{")
        appendHead(number, bits, to: &buffer)
        if bits >> 12 & 1 == 0 { buffer.append(",\"user_id\":null") }
        if bits >> 13 & 3 == 0 { buffer.append(",\"experiments\":{\"layout\":\"wide\"}") }
        buffer.append(",\"properties\":{")
        appendProperties(number, bits, to: &buffer)
        // What the contract does not list is removed.
        if bits >> 15 & 15 == 0 { buffer.append(",\"unlisted\":17") }
        buffer.append("}}")
    }

    /// Appends the event as GraphJSON must get it, except what only the endpoint knows: `received_at` and what may
    /// follow that.
    ///
    /// - Returns: the offset in what was appended where those stand.
    package func appendExpected(_ number: Int, to buffer: inout ByteBuffer) -> Int {
        let bits = bits(of: number)
        let start = buffer.count
        buffer.append("{")
        appendHead(number, bits, to: &buffer)
        let middle = buffer.count - start
        buffer.append(",\"contract_version\":\"soak-1\"")
        if bits >> 13 & 3 == 0 { buffer.append(",\"experiment_layout\":\"wide\"") }
        buffer.append(",")
        appendProperties(number, bits, to: &buffer)
        buffer.append("}")
        return middle
    }

    private func appendHead(_ number: Int, _ bits: UInt64, to buffer: inout ByteBuffer) {
        switch kind(of: number) {
        case .large: buffer.append("\"event\":\"note_saved\",\"event_id\":\"")
        case .lowDurability: buffer.append("\"event\":\"screen_viewed\",\"event_id\":\"")
        default: buffer.append("\"event\":\"report_exported\",\"event_id\":\"")
        }
        appendID(number, to: &buffer)
        buffer.append("\",\"occurred_at\":")
        buffer.append(decimal: occurredAt(number))
        buffer.append(",\"sequence\":")
        buffer.append(decimal: sequence(of: number))
        buffer.append(",\"anonymous_id\":\"anon-")
        buffer.append(hexadecimal: UInt64(number / batch % clients), digits: 16)
        buffer.append("\",\"session_id\":\"ses-")
        buffer.append(hexadecimal: UInt64(session(of: number)), digits: 16)
        buffer.append("\",\"app_version\":\"4.8.0\",\"build_number\":\"842\"")
        buffer.append(bits >> 16 & 1 == 0 ? ",\"platform\":\"ios\"" : ",\"platform\":\"android\"")
        buffer.append(",\"schema_version\":1")
    }

    private func appendProperties(_ number: Int, _ bits: UInt64, to buffer: inout ByteBuffer) {
        buffer.append("\"digest\":\"")
        buffer.append(hexadecimal: bits, digits: 16)
        buffer.append("\"")
        switch kind(of: number) {
        case .large:
            buffer.append(",\"text\":\"")
            let start = buffer.count
            buffer.append(upTo: 4000) { $0.initializeMemory(as: UInt8.self, repeating: 0).count }
            buffer.fill(start..<buffer.count, with: UInt8(ascii: "a") + UInt8(bits % 26))
            buffer.append("\"")
        case .lowDurability: appendTitle(bits, to: &buffer)
        default:
            buffer.append(",\"count\":")
            // Half of them need more than the 53 bits of a double.
            buffer.append(decimal: Int(bits >> (bits & 1 == 0 ? 1 : 44)))
            buffer.append(",\"ratio\":")
            buffer.append(Self.ratios[Int(bits >> 24 & 7)])
            appendTitle(bits, to: &buffer)
            buffer.append(bits >> 17 & 1 == 0 ? ",\"is_shared\":true" : ",\"is_shared\":false")
        }
    }

    private func appendTitle(_ bits: UInt64, to buffer: inout ByteBuffer) {
        buffer.append(",\"title\":\"")
        buffer.append(Self.titles[Int(bits >> 28 & 15)])
        buffer.append("\"")
    }

    /// Numbers keep their source text.
    private static let ratios: [StaticString] = ["0.5", "0.1230", "-0", "1e3", "-2.5E-7", "100", "3.0", "12345.6789"]

    private static let titles: [StaticString] = [
        "Weekly retention", "Quarter by region", "", "Umsätze 2026, Köln", "a", "Export", "売上レポート", "Cohort 7",
        "🚀 launch", "e\u{301} and \u{e9}",
        "A longer title that says what the report is about, and for whom it was made",
        "Funnel", "quote \\\" and backslash \\\\", "tab\\tand\\nline", "solidus / and \\/",
        "\\u00e9\\u4e2d\\ud83d\\ude00",
    ]
}

extension ByteBuffer {
    fileprivate mutating func append(hexadecimal value: UInt64, digits: Int) {
        append(upTo: digits) { room in
            var rest = value
            for index in (0..<digits).reversed() {
                let digit = UInt8(rest & 15)
                room[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                rest >>= 4
            }
            return digits
        }
    }
}

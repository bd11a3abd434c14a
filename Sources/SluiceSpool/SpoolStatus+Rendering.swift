// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
package import SluiceSystem

extension SpoolStatus {
    /// The equation in one line.
    package var conservationLine: String {
        "accepted \(accepted) = delivered \(counts.delivered) + duplicate \(counts.duplicate) + expired \(counts.expired) "
            + "+ discarded \(counts.discarded) + erased \(counts.erased) + quarantined \(quarantined) + pending \(pending) "
            + (balanced ? "(balanced)" : "(NOT balanced)")
    }

    /// Some lines for people; the last is the equation.
    package var text: String {
        var lines: [String] = []
        for (name, count, size) in [
            ("open", segments.open, bytes.open), ("ready", segments.ready, bytes.ready),
            ("claimed", segments.claimed, bytes.claimed), ("quarantine", segments.quarantine, bytes.quarantine),
        ] {
            lines.append("\(padded(name))\(count) \(count == 1 ? "segment" : "segments"), \(Self.size(size))")
        }
        lines.append("\(padded("oldest"))" + (oldestRecordAgeSeconds.map { "\($0) s" } ?? "nothing pending"))
        lines.append(
            "\(padded("rates"))accepted \(Self.rate(rates.accepted))/s, delivered \(Self.rate(rates.delivered))/s "
                + "in the last \(Ledger.rateSeconds) s"
        )
        for (reason, count) in sortedReasons { lines.append("\(padded("bad"))\(reason) \(count)") }
        if tornTails > 0 {
            lines.append("\(padded("torn"))\(tornTails) incomplete frames that were never acknowledged")
        }
        lines.append("\(padded("gate"))\(gateText)")
        for note in notes { lines.append("\(padded("note"))\(note)") }
        for problem in problems { lines.append("\(padded("PROBLEM"))\(problem)") }
        lines.append(conservationLine)
        return lines.joined(separator: "\n") + "\n"
    }

    private var gateText: String {
        guard let gate else { return "open" }
        if let halted = gate.haltedReason { return "halted: \(halted)" }
        let left = gate.remainingMilliseconds(at: takenAtMilliseconds)
        return left > 0 ? "closed for \((left + 999) / 1000) s: \(gate.reason)" : "open"
    }

    private var gateState: StaticString {
        guard let gate else { return "open" }
        if gate.haltedReason != nil { return "halted" }
        return gate.isClosed(atMilliseconds: takenAtMilliseconds) ? "closed" : "open"
    }

    private var sortedReasons: [(String, Int)] {
        quarantineReasons.map { ($0.key, $0.value) }.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
    }

    private func padded(_ name: String) -> String {
        name + String(repeating: " ", count: max(1, 12 - name.utf8.count))
    }

    private static func size(_ bytes: Int) -> String {
        var value = Double(bytes)
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1024 || unit == "GiB" { return unit == "B" ? "\(bytes) B" : "\(rate(value)) \(unit)" }
            value /= 1024
        }
        return "\(bytes) B"
    }

    /// One digit behind the point.
    private static func rate(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// One JSON object in one line, without a line feed.
    package var json: String {
        var buffer = ByteBuffer(capacity: 1024)
        appendJSON(to: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    package func appendJSON(to buffer: inout ByteBuffer) {
        buffer.append(#"{"accepted":"#)
        buffer.append(decimal: accepted)
        member("delivered", counts.delivered, &buffer)
        member("duplicate", counts.duplicate, &buffer)
        member("expired", counts.expired, &buffer)
        member("discarded", counts.discarded, &buffer)
        member("erased", counts.erased, &buffer)
        member("quarantined", quarantined, &buffer)
        member("pending", pending, &buffer)
        buffer.append(balanced ? #","balanced":true,"problems":"# : #","balanced":false,"problems":"#)
        array(problems, &buffer)
        buffer.append(#","notes":"#)
        array(notes, &buffer)
        member("damaged", damaged, &buffer)
        member("torn_tails", tornTails, &buffer)
        member("ignored_files", ignoredFiles, &buffer)
        places("segments", segments, &buffer)
        places("bytes", bytes, &buffer)
        buffer.append(#","oldest_record_age_s":"#)
        buffer.append(oldestRecordAgeSeconds.map { "\($0)" } ?? "null")
        buffer.append(#","rates":{"window_s":"#)
        buffer.append(decimal: Ledger.rateSeconds)
        buffer.append(",\"accepted_per_s\":\(Self.rate(rates.accepted))")
        buffer.append(",\"delivered_per_s\":\(Self.rate(rates.delivered))}")
        buffer.append(#","quarantine_reasons":{"#)
        for (index, (reason, count)) in sortedReasons.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.append(jsonString: reason)
            buffer.append(":")
            buffer.append(decimal: count)
        }
        buffer.append("}")
        gateMember(&buffer)
        buffer.append("}")
    }

    private func gateMember(_ buffer: inout ByteBuffer) {
        buffer.append(#","gate":{"state":""#)
        buffer.append(gateState)
        buffer.append("\"")
        if let gate {
            member("closed_until_ms", Int(gate.closedUntilMilliseconds), &buffer)
            buffer.append(#","reason":"#)
            buffer.append(jsonString: gate.reason)
            member("consecutive_failures", gate.consecutiveFailures, &buffer)
            buffer.append(gate.hasDelivered ? #","has_delivered":true"# : #","has_delivered":false"#)
            buffer.append(#","halted":"#)
            if let halted = gate.haltedReason { buffer.append(jsonString: halted) } else { buffer.append("null") }
        }
        buffer.append("}")
    }

    private func member(_ key: StaticString, _ value: Int, _ buffer: inout ByteBuffer) {
        buffer.append(#",""#)
        buffer.append(key)
        buffer.append(#"":"#)
        buffer.append(decimal: value)
    }

    private func places(_ key: StaticString, _ places: Places, _ buffer: inout ByteBuffer) {
        buffer.append(#",""#)
        buffer.append(key)
        buffer.append(#"":{"open":"#)
        buffer.append(decimal: places.open)
        member("ready", places.ready, &buffer)
        member("claimed", places.claimed, &buffer)
        member("quarantine", places.quarantine, &buffer)
        buffer.append("}")
    }

    private func array(_ texts: [String], _ buffer: inout ByteBuffer) {
        buffer.append("[")
        for (index, text) in texts.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.append(jsonString: text)
        }
        buffer.append("]")
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// What the relays of a spool know together of their destination: whether the road is open, and if not, why.
package struct Gate: Hashable, Sendable {
    /// A record that keeps failing alone while others get through.
    ///
    /// Its failures count together over all runs, however short they are.
    package struct Suspect: Hashable, Sendable {
        /// Where it stands in the spool.
        package var place: RecordOrigin
        package var failures: Int
        /// Unix milliseconds of the first failure.
        package var sinceMilliseconds: Int64

        package init(place: RecordOrigin, failures: Int, sinceMilliseconds: Int64) {
            self.place = place
            self.failures = failures
            self.sinceMilliseconds = sinceMilliseconds
        }
    }

    /// Suspects that are kept; the counts of more begin anew with each run.
    package static let maximumSuspects = 16

    /// Which destination this is about; another one begins with an open road.
    package var destination: UInt64
    /// Unix milliseconds until which nothing is sent; 0 when the road is open.
    package var closedUntilMilliseconds: Int64
    /// When that was written, by the same clock; 0 when it is not known.
    package var closedAtMilliseconds: Int64 = 0
    /// Why it is closed; empty when it is open.
    package var reason: String
    /// Failed requests without a success since.
    package var consecutiveFailures: Int
    /// Whether the destination has ever taken a record.
    package var hasDelivered: Bool
    /// Why delivery is halted until an operator acts or a probe succeeds; nil when it is not.
    package var haltedReason: String?
    /// At most `maximumSuspects`, the oldest first.
    package var suspects: [Suspect] = []

    package init(
        destination: UInt64,
        closedUntilMilliseconds: Int64 = 0,
        reason: String = "",
        consecutiveFailures: Int = 0,
        hasDelivered: Bool = false,
        haltedReason: String? = nil
    ) {
        self.destination = destination
        self.closedUntilMilliseconds = closedUntilMilliseconds
        self.reason = reason
        self.consecutiveFailures = consecutiveFailures
        self.hasDelivered = hasDelivered
        self.haltedReason = haltedReason
    }

    /// Whether nothing may be sent at this moment.
    package func isClosed(atMilliseconds now: Int64) -> Bool { closedUntilMilliseconds > now }

    /// Milliseconds for which nothing may be sent from this moment on.
    ///
    /// Never more than were asked for when the road was closed: the clock of whoever closed it may be another, or may have
    /// been stepped since. Never more than an hour either, the longest pause that anybody may ask for.
    package func remainingMilliseconds(at now: Int64) -> Int64 {
        let asked = closedAtMilliseconds > 0 ? closedUntilMilliseconds - closedAtMilliseconds : .max
        return max(0, min(closedUntilMilliseconds - now, asked, 3_600_000))
    }
}

// MARK: Text

extension Gate {
    /// Longest text of a reason in the file, in bytes.
    static let maximumReasonBytes = 300

    /// A line of JSON that ends with the checksum of what stands before it.
    ///
    /// * `limit`: suspects that do not fit into so many bytes are left out.
    func append(to buffer: inout ByteBuffer, limit: Int) {
        let start = buffer.count
        buffer.append(#"{"destination":""#)
        buffer.append(SegmentName.writerText(destination))
        buffer.append(#"","closed_until_ms":"#)
        buffer.append(decimal: Int(closedUntilMilliseconds))
        if closedAtMilliseconds > 0 {
            buffer.append(#","closed_at_ms":"#)
            buffer.append(decimal: Int(closedAtMilliseconds))
        }
        buffer.append(#","reason":"#)
        buffer.append(jsonString: Self.shortened(reason))
        buffer.append(#","consecutive_failures":"#)
        buffer.append(decimal: consecutiveFailures)
        buffer.append(#","has_delivered":"#)
        buffer.append(hasDelivered ? "true" : "false")
        if let haltedReason {
            buffer.append(#","halted":"#)
            buffer.append(jsonString: Self.shortened(haltedReason))
        }
        if !suspects.isEmpty { appendSuspects(to: &buffer, end: start + limit - Self.closingBytes) }
        let sum = Checksum.xxh3(UnsafeRawBufferPointer(rebasing: buffer.bytes[start...]))
        buffer.append(#","checksum":""#)
        buffer.append(SegmentName.writerText(sum))
        buffer.append("\"}")
    }

    /// Room for the end of the list of suspects and the checksum.
    private static let closingBytes = 64

    /// `,"suspects":[["<segment>",frame,index,failures,since],…]`.
    private func appendSuspects(to buffer: inout ByteBuffer, end: Int) {
        buffer.append(#","suspects":["#)
        var isFirst = true
        for suspect in suspects.prefix(Self.maximumSuspects) {
            let place = suspect.place
            let numbers = "\(place.frame),\(place.index),\(suspect.failures),\(suspect.sinceMilliseconds)"
            let text = "\(isFirst ? "" : ",")[\"\(place.segment.text)\",\(numbers)]"
            if buffer.count + text.utf8.count > end { break }
            buffer.append(text)
            isFirst = false
        }
        buffer.append("]")
    }

    private static func suspects(_ document: JSONDocument) -> [Suspect] {
        guard let list = document.value(of: "suspects", in: 0), document[list].kind == .array else { return [] }
        return document.elements(of: list).prefix(maximumSuspects).compactMap { element in
            guard document[element].kind == .array else { return nil }
            let parts = Array(document.elements(of: element))
            guard parts.count == 5, document[parts[0]].kind == .string,
                let segment = SegmentName(bytes: document.text(document[parts[0]])),
                let frame = document.integer(document[parts[1]]), let index = document.integer(document[parts[2]]),
                let failures = document.integer(document[parts[3]]), let since = document.integer(document[parts[4]]),
                frame >= 0, (0...Int(UInt32.max)).contains(index), failures > 0
            else { return nil }
            let place = RecordOrigin(segment: segment, frame: frame, index: index)
            return Suspect(place: place, failures: failures, sinceMilliseconds: Int64(since))
        }
    }

    private static func shortened(_ text: String) -> String {
        guard text.utf8.count > maximumReasonBytes else { return text }
        var result = ""
        for character in text.unicodeScalars {
            if result.utf8.count + 4 > maximumReasonBytes { break }
            result.unicodeScalars.append(character)
        }
        return result
    }

    /// Reads what `append` wrote; nil when it does not verify.
    ///
    /// * `bytes`: followed by `ByteBuffer.padding` readable bytes; white space may follow the line.
    init?(json bytes: UnsafeRawBufferPointer) {
        let parser = JSONParser(maximumBytes: 1 << 20, maximumDepth: 4)
        guard let document = try? parser.parse(bytes),  // whatever is wrong, the road is open
            let name = document.value(of: "destination", in: 0),
            let until = document.value(of: "closed_until_ms", in: 0).flatMap({ document.integer(document[$0]) }),
            let reason = document.value(of: "reason", in: 0),
            let failures = document.value(of: "consecutive_failures", in: 0).flatMap({ document.integer(document[$0]) }
            ),
            let hasDelivered = document.value(of: "has_delivered", in: 0),
            let checksum = document.value(of: "checksum", in: 0),
            document[name].kind == .string, document[reason].kind == .string, document[checksum].kind == .string
        else { return nil }
        let checkedLength = Int(document[checksum].start) - #","checksum":""#.utf8.count
        guard checkedLength > 0, document[0].kind == .object,
            let destination = UInt64(document.string(document[name]), radix: 16)
        else { return nil }
        let sum = Checksum.xxh3(UnsafeRawBufferPointer(rebasing: bytes[..<checkedLength]))
        guard document.text(document[checksum]).elementsEqual(SegmentName.writerText(sum).utf8) else { return nil }
        var halted: String?
        if let index = document.value(of: "halted", in: 0), document[index].kind == .string {
            halted = document.string(document[index])
        }
        self.init(
            destination: destination,
            closedUntilMilliseconds: Int64(until),
            reason: document.string(document[reason]),
            consecutiveFailures: failures,
            hasDelivered: document[hasDelivered].kind == .true,
            haltedReason: halted
        )
        let closedAt = document.value(of: "closed_at_ms", in: 0).flatMap { document.integer(document[$0]) }
        closedAtMilliseconds = Int64(max(0, closedAt ?? 0))
        suspects = Self.suspects(document)
    }
}

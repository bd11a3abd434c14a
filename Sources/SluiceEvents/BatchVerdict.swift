// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// Where a text stands in a verdict's `text`.
package struct TextSpan: BitwiseCopyable, Hashable, Sendable {
    package var start: UInt32 = 0
    package var count: UInt32 = 0

    package var isEmpty: Bool { count == 0 }
}

/// What was decided about one event.
package struct EventVerdict: BitwiseCopyable, Sendable {
    package enum Outcome: UInt8, BitwiseCopyable, Sendable {
        /// Written as a record that will be sent.
        case accepted
        /// Written as a record that waits for a replay; for the client this is accepted too.
        case quarantined
        /// Nothing was written.
        case rejected
    }

    package var outcome = Outcome.rejected
    /// Why; meaningful unless accepted.
    package var code = EventCode.invalidJSON
    /// Whether the clock policy moved its timestamp.
    package var isClamped = false
    /// The event's number in `Contract.eventNames`, or -1.
    package var event: Int32 = -1
    /// The event's id; empty when it has no valid one.
    package var id = TextSpan()
    /// Which field or property, or what else; never a value.
    package var detail = TextSpan()
    /// The first of its removed names in `BatchVerdict.removedNames`.
    package var firstRemoved: UInt32 = 0
    package var removedCount: UInt32 = 0
    /// `IdentityHash` of its `anonymous_id`; 0 when it has none or was rejected.
    package var identity: UInt64 = 0
}

/// What was decided about the events of a body, in their order; it reuses its memory from body to body.
package struct BatchVerdict: ~Copyable {
    package internal(set) var events: [EventVerdict] = []
    /// Ids, details and removed names.
    package internal(set) var text = ByteBuffer(capacity: 4096)
    /// Names of fields, experiments and properties that were removed.
    package internal(set) var removedNames: [TextSpan] = []
    package internal(set) var accepted = 0
    package internal(set) var quarantined = 0
    package internal(set) var rejected = 0
    /// Events whose timestamp the clock policy moved.
    package internal(set) var clamped = 0
    /// Events whose `user_id` nobody vouches for, whether it was removed or kept as claimed; mismatches included.
    package internal(set) var unprovenUsers = 0
    /// Events that name another user than the one who is vouched for.
    package internal(set) var userMismatches = 0
    /// Members beside `events` that nobody knows.
    package internal(set) var unknownBatchFields = 0
    /// What the client says it had to drop.
    package internal(set) var clientDrops = ClientDrops()

    package init() {}

    package func bytes(_ span: TextSpan) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[Int(span.start)..<Int(span.start + span.count)])
    }

    package func string(_ span: TextSpan) -> String { String(decoding: bytes(span), as: UTF8.self) }

    package mutating func removeAll() {
        events.removeAll(keepingCapacity: true)
        text.removeAll()
        removedNames.removeAll(keepingCapacity: true)
        accepted = 0
        quarantined = 0
        rejected = 0
        clamped = 0
        unprovenUsers = 0
        userMismatches = 0
        unknownBatchFields = 0
        clientDrops = ClientDrops()
    }

    mutating func keep(_ bytes: UnsafeRawBufferPointer) -> TextSpan {
        let span = TextSpan(start: UInt32(text.count), count: UInt32(bytes.count))
        text.append(bytes)
        return span
    }

    /// Keeps a client's name cut to 100 bytes, at a character's end.
    mutating func keep(name bytes: UnsafeRawBufferPointer, after prefix: StaticString = "") -> TextSpan {
        let start = text.count
        text.append(prefix)
        var count = min(bytes.count, 100)
        while count > 0, count < bytes.count, bytes[count] & 0xC0 == 0x80 { count -= 1 }
        text.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        return TextSpan(start: UInt32(start), count: UInt32(text.count - start))
    }

    mutating func keep(_ text: StaticString) -> TextSpan {
        keep(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func add(_ verdict: EventVerdict) {
        events.append(verdict)
        switch verdict.outcome {
        case .accepted: accepted += 1
        case .quarantined: quarantined += 1
        case .rejected: rejected += 1
        }
        if verdict.isClamped && verdict.outcome != .rejected { clamped += 1 }
    }
}

/// Counts of what a client had to drop, by reason; reasons outside the list are `other`.
package struct ClientDrops: Hashable, Sendable {
    package static let reasons: [StaticString] = [
        "expired", "overflow", "consent", "invalid", "too_large", "storage", "corrupt", "rejected",
        "malformed_property", "other",
    ]

    /// One count for each of `reasons`.
    package internal(set) var counts = [Int](repeating: 0, count: reasons.count)

    package init() {}

    mutating func add(_ count: Int, reason: UnsafeRawBufferPointer) {
        let index = Self.reasons.firstIndex { reason.isEqual(to: $0) } ?? Self.reasons.count - 1
        counts[index] = counts[index].addingReportingOverflow(count).partialValue
    }
}

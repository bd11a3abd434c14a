// SPDX-License-Identifier: Apache-2.0
package import SluiceGraphJSON
package import SluiceSystem

/// Where a record of a claimed segment stands, and what has to be known of it until it is resolved.
package struct RecordReference: Sendable {
    /// The segment's place in the relay's table of claims.
    package var slot: Int32
    /// Number of the record within its frame.
    package var index: UInt32
    /// Offset of the frame in the segment file, in bytes.
    package var frameOffset: Int
    /// What the duplicate window knows the record by.
    package var fingerprint: UInt64 = 0
    /// 32 bits of the record's first place, kept through replays.
    package var origin: UInt32 = 0
    /// A hash of the event's name, to choose unlike records for probes.
    package var eventHash: UInt32 = 0
    /// When the record expires, in Unix seconds; 0 is never.
    package var expiresAt: UInt32 = 0
    /// Where the event's text ends in its chunk.
    package var textEnd: UInt32 = 0
    /// The event's own time in Unix seconds, for request shapes that carry one an event.
    package var timestamp = 0

    package init(slot: Int32, frameOffset: Int, index: Int) {
        self.slot = slot
        self.frameOffset = frameOffset
        self.index = UInt32(index)
    }
}

/// Events that share a request: their texts, and where each came from.
///
/// A chunk is filled by the grouper, sent as a whole, halved when the destination refuses it, and given back to the
/// pool when its last record is resolved.
package final class Chunk {
    package struct Key: Hashable {
        /// Number of the collection in the relay's list of names.
        package var collection: Int32
        /// The timestamp that the events share, in Unix seconds.
        package var timestamp: Int
    }

    package internal(set) var key = Key(collection: 0, timestamp: 0)
    /// The events' JSON, escaped for a JSON string, one behind the other.
    package internal(set) var texts = ByteBuffer()
    package internal(set) var records: [RecordReference] = []
    /// Monotonic nanoseconds when the first record came in.
    package internal(set) var openedAt: Int64 = 0
    /// The chunk that this one was split from, or itself: failures of one family count as one source.
    package internal(set) var family = 0
    /// Failures in a row, inherited by halves.
    package internal(set) var failures = 0
    /// Failures since the chunk holds one record.
    package internal(set) var failuresAlone = 0
    /// Whether no failure has ever been its own.
    var isFresh: Bool { failures == 0 && failuresAlone == 0 }
    /// Times the destination refused the record, counted while it stands alone.
    package internal(set) var rejectionsAlone = 0
    /// Requests made for the records of this chunk, its parents included.
    package internal(set) var attempts = 0
    /// Monotonic nanoseconds of the first failure, and the deliveries that the destination had taken by then.
    package internal(set) var firstFailureAt: Int64 = 0
    package internal(set) var deliveriesAtFirstFailure = 0
    /// Monotonic nanoseconds before which it is not sent again.
    package internal(set) var notBefore: Int64 = 0
    /// What the destination said of a record that is held until it is known to take others.
    package internal(set) var cause: QuarantineCause?
    /// The earliest expiry among the records, Unix seconds; 0 when none expires.
    package internal(set) var earliestExpiry: UInt32 = 0

    /// The state of the list of erased persons that all its records were held against.
    package internal(set) var erasureGeneration = 0

    /// Neighbours by age among the open chunks.
    var older: Chunk?
    var younger: Chunk?

    package init(family: Int = 0) { self.family = family }

    package var count: Int { records.count }

    /// Takes the events of `other` in place of its own.
    func takeOver(_ other: Chunk) {
        texts.removeAll()
        records.removeAll(keepingCapacity: true)
        earliestExpiry = 0
        for index in 0..<other.count { append(index, of: other) }
    }

    /// Memory that the chunk stands for, in bytes.
    package var cost: Int { texts.count + records.count * MemoryLayout<RecordReference>.stride + Self.overheadBytes }

    /// Memory of a chunk besides its texts and references, in bytes.
    static let overheadBytes = 448

    /// The text of event `index`.
    package func text(_ index: Int) -> UnsafeRawBufferPointer {
        let start = index == 0 ? 0 : Int(records[index - 1].textEnd)
        return UnsafeRawBufferPointer(rebasing: texts.bytes[start..<Int(records[index].textEnd)])
    }

    /// Takes event `index` of `other` over as the last of this chunk.
    func append(_ index: Int, of other: Chunk) {
        append(other.text(index), of: other.records[index])
    }

    /// Takes an event in as the last.
    package func append(_ text: UnsafeRawBufferPointer, of record: RecordReference) {
        texts.append(text)
        var record = record
        record.textEnd = UInt32(texts.count)
        records.append(record)
        if record.expiresAt != 0 && (earliestExpiry == 0 || record.expiresAt < earliestExpiry) {
            earliestExpiry = record.expiresAt
        }
    }

    /// Takes over what is known of the delivery of `other`, as one of its halves does.
    func inherit(_ other: Chunk) {
        key = other.key
        erasureGeneration = other.erasureGeneration
        openedAt = other.openedAt
        family = other.family
        failures = other.failures
        attempts = other.attempts
        firstFailureAt = other.firstFailureAt
        deliveriesAtFirstFailure = other.deliveriesAtFirstFailure
    }

    /// Takes over what earlier runs noted of the one record that it holds.
    package func resume(failures: Int, firstFailureAt: Int64) {
        failuresAlone = failures
        attempts = failures
        self.firstFailureAt = firstFailureAt
    }

    func reset() {
        texts.removeAll()
        texts.shrink(to: 64 << 10)
        records.removeAll(keepingCapacity: true)
        (openedAt, firstFailureAt, notBefore) = (0, 0, 0)
        (family, failures, failuresAlone, rejectionsAlone, attempts, deliveriesAtFirstFailure) = (0, 0, 0, 0, 0, 0)
        cause = nil
        earliestExpiry = 0
    }
}

/// Why a record goes to quarantine, for its entry there.
package struct QuarantineCause: Sendable, Equatable {
    package enum Reason: String, Sendable {
        case upstreamRejected = "upstream_rejected"
        case upstreamFailing = "upstream_failing"
        case payloadTooLarge = "payload_too_large"
        case invalidRecord = "invalid_record"
    }

    package var reason: String
    package var detail: String
    /// The answer's status; nil when none was the cause.
    package var status: Int?

    package init(_ reason: Reason, detail: String, status: Int? = nil) {
        self.init(reason: reason.rawValue, detail: detail, status: status)
    }

    /// Takes a reason that the endpoint has written into the record.
    package init(reason: String, detail: String, status: Int? = nil) {
        self.reason = reason
        self.detail = detail
        self.status = status
    }

    /// What the destination answered, with an excerpt of its words.
    package init(_ reason: Reason, _ verdict: Verdict) {
        let detail = verdict.excerpt.isEmpty ? verdict.summary : "\(verdict.summary): \(verdict.excerpt)"
        self.init(reason, detail: detail, status: verdict.status)
    }
}

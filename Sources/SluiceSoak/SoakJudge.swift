// SPDX-License-Identifier: Apache-2.0
package import SluiceJSON
internal import SluiceSystem

/// An event that came to the destination.
package struct SoakArrival: Hashable, Sendable {
    /// Its number; nil when it is no event of the soak.
    package var number: Int?
    /// What is wrong with it; nil when it is as it was posted.
    package var fault: SoakFault?

    package init(number: Int?, fault: SoakFault?) {
        self.number = number
        self.fault = fault
    }
}

/// How an event that arrived differs from what was posted.
package enum SoakFault: UInt64, Sendable, CaseIterable {
    case foreign = 1
    case content
    case timestamp
}

/// Compares arriving events with what was posted; one for each thread, as it reuses its memory.
package final class SoakJudge {
    private let plan: SoakPlan
    private let parser = JSONParser(maximumBytes: 1 << 20)
    private var expected = ByteBuffer(capacity: 8 << 10)

    package init(_ plan: SoakPlan) { self.plan = plan }

    /// Judges an event.
    ///
    /// - Parameters:
    ///   - document: holds the event.
    ///   - element: the event's token in it.
    ///   - timestamp: what the request says of it.
    /// - Returns: which event it is, and what is wrong with it.
    package func judge(_ document: JSONDocument, at element: Int, timestamp: Int) -> SoakArrival {
        guard let id = document.value(of: "event_id", in: element), document[id].kind == .string,
            let number = plan.number(ofID: document.text(document[id]))
        else { return SoakArrival(number: nil, fault: .foreign) }
        expected.removeAll()
        let middle = plan.appendExpected(number, to: &expected)
        let raw = document.raw(document[element])
        guard let isCorrected = tail(raw, behind: middle) ?? comparison(document, element) else {
            return SoakArrival(number: number, fault: .content)
        }
        let isTimeRight = timestamp == plan.occurredAt(number) || isCorrected
        return SoakArrival(number: number, fault: isTimeRight ? nil : .timestamp)
    }

    /// Compares the texts, which are nearly always the same.
    ///
    /// - Returns: whether the time was corrected; nil when the texts differ.
    private func tail(_ raw: UnsafeRawBufferPointer, behind middle: Int) -> Bool? {
        guard raw.starts(with: UnsafeRawBufferPointer(rebasing: expected.bytes[..<middle])) else { return nil }
        var offset = middle
        guard Self.skip(Self.receivedAt, in: raw, &offset), Self.skipDigits(in: raw, &offset) else { return nil }
        if Self.skip(Self.sentAt, in: raw, &offset), !Self.skipDigits(in: raw, &offset) { return nil }
        let isCorrected = Self.skip(Self.corrected, in: raw, &offset)
        let rest = UnsafeRawBufferPointer(rebasing: raw[offset...])
        let wanted = UnsafeRawBufferPointer(rebasing: expected.bytes[middle...])
        return rest.count == wanted.count && rest.starts(with: wanted) ? isCorrected : nil
    }

    private static let receivedAt = Array(#","received_at":"#.utf8)
    private static let sentAt = Array(#","client_sent_at":"#.utf8)
    private static let corrected = Array(#","timestamp_corrected":true"#.utf8)

    private static func skip(_ text: [UInt8], in raw: UnsafeRawBufferPointer, _ offset: inout Int) -> Bool {
        guard raw[offset...].starts(with: text) else { return false }
        offset += text.count
        return true
    }

    private static func skipDigits(in raw: UnsafeRawBufferPointer, _ offset: inout Int) -> Bool {
        let start = offset
        while offset < raw.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(raw[offset]) { offset += 1 }
        return offset > start
    }

    /// Compares member by member: the order, and how strings are escaped, is the relay's affair.
    ///
    /// - Returns: whether the time was corrected; nil when the events differ.
    private func comparison(_ document: JSONDocument, _ element: Int) -> Bool? {
        guard let wanted = try? parser.parse(expected.bytes) else { return nil }  // the test of the plan would fail
        var matched = 0
        var isCorrected = false
        var receptions = 0
        for member in document.members(of: element) {
            let (key, value) = (document[member.key], document[member.value])
            if document.text(key, equals: "received_at") {
                receptions += 1
                guard value.kind == .integer else { return nil }
            } else if document.text(key, equals: "client_sent_at") {
                guard value.kind == .integer else { return nil }
            } else if document.text(key, equals: "timestamp_corrected") {
                isCorrected = value.kind == .true
            } else {
                guard let other = Self.member(wanted, named: document.text(key)),
                    Self.isSame(document, value, wanted, wanted[other])
                else { return nil }
                matched += 1
            }
        }
        let isComplete = wanted.members(of: 0).reduce(0) { count, _ in count + 1 } == matched
        return isComplete && receptions == 1 ? isCorrected : nil
    }

    private static func member(_ document: JSONDocument, named name: UnsafeRawBufferPointer) -> Int? {
        document.members(of: 0).first { document.text(document[$0.key]).elementsEqual(name) }?.value
    }

    private static func isSame(
        _ one: JSONDocument,
        _ value: JSONToken,
        _ other: JSONDocument,
        _ wanted: JSONToken
    ) -> Bool {
        guard value.kind == wanted.kind else { return false }
        if value.kind == .string { return one.text(value).elementsEqual(other.text(wanted)) }
        return one.raw(value).elementsEqual(other.raw(wanted))
    }
}

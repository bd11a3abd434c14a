// SPDX-License-Identifier: Apache-2.0
package import SluiceJSON

/// A record of a segment as token indexes into its parsed line; nothing is copied.
///
/// Members may stand in any order, unknown ones are ignored. The envelope carries no `user_id`: who the user is was
/// decided at admission and stands in `trusted`.
package struct SpooledRecord {
    /// Where a replayed record was first quarantined.
    package struct Origin: Hashable, Sendable {
        package var segment: String
        /// Byte offset of the frame.
        package var frame: Int
        /// Place in the frame.
        package var index: Int

        package init(segment: String, frame: Int, index: Int) {
            self.segment = segment
            self.frame = frame
            self.index = index
        }
    }

    package let document: JSONDocument
    /// Token index of the record itself.
    package let root: Int
    /// Unix seconds of receipt by the server.
    package private(set) var receivedAt = 0
    /// Unix seconds to deliver under: `occurred_at`, or what the clock policy made of it.
    package private(set) var timestamp = 0
    package private(set) var isTimestampCorrected = false
    /// Unix seconds when the client sent it, by the client's clock.
    package private(set) var clientSentAt: Int?
    /// Unix seconds after which it need not be delivered any more.
    package private(set) var expiresAt: Int?
    /// How often it came back from quarantine.
    package private(set) var replays = 0

    // Token indexes; 0 means absent, for the root is no member of itself.
    private var collectionIndex = 0
    private var trustedIndex = 0
    private var envelopeIndex = 0
    private var contractIndex = 0
    private var environmentIndex = 0
    private var quarantineIndex = 0
    private var originIndex = 0
    private var sourceIndex = 0
    private var eventIndex = 0
    private var eventIDIndex = 0
    private var anonymousIDIndex = 0
    private var appVersionIndex = 0

    /// Token index of the collection's name.
    package var collection: Int { collectionIndex }
    /// Token index of the object of trusted fields.
    package var trusted: Int { trustedIndex }
    /// Token index of the canonical envelope.
    package var envelope: Int { envelopeIndex }
    /// Token index of the event's name.
    package var event: Int { eventIndex }
    package var eventID: Int { eventIDIndex }
    /// Token index of the anonymous id; server-originated events may have none.
    package var anonymousID: Int? { anonymousIDIndex == 0 ? nil : anonymousIDIndex }
    package var appVersion: Int? { appVersionIndex == 0 ? nil : appVersionIndex }
    package var environment: Int? { environmentIndex == 0 ? nil : environmentIndex }
    /// Token index of the object with the contract's version and hash.
    package var contract: Int? { contractIndex == 0 ? nil : contractIndex }
    /// Token index of the contract's version.
    package var contractVersion: Int? { contract.flatMap { document.value(of: "version", in: $0) } }
    /// Token index of the user that was proven at admission.
    package var userID: Int? { document.value(of: "user_id", in: trustedIndex) }
    /// Token index of a user that was only claimed.
    package var claimedUserID: Int? { document.value(of: "claimed_user_id", in: trustedIndex) }
    /// Whether a server of one's own stated it.
    package var isFromServer: Bool { sourceIndex != 0 && document.text(document[sourceIndex], equals: "server") }
    /// Whether it was set aside at admission.
    package var isQuarantined: Bool { quarantineIndex != 0 }
    /// Token index of why it was set aside at admission, one of `EventCode`'s texts.
    package var quarantineReason: Int? {
        quarantineIndex == 0 ? nil : document.value(of: "reason", in: quarantineIndex)
    }
    package var quarantineDetail: Int? {
        quarantineIndex == 0 ? nil : document.value(of: "detail", in: quarantineIndex)
    }

    /// Where a replayed record was first quarantined; nil for one that never was.
    package var origin: Origin? {
        guard originIndex != 0,
            let segment = document.value(of: "segment", in: originIndex), document[segment].kind == .string,
            let frame = document.value(of: "frame", in: originIndex).flatMap({ document.integer(document[$0]) }),
            let index = document.value(of: "index", in: originIndex).flatMap({ document.integer(document[$0]) }),
            frame >= 0, index >= 0
        else { return nil }
        return Origin(segment: document.string(document[segment]), frame: frame, index: index)
    }

    /// Reads the record at token `root`: the whole line, or the record inside a quarantine entry.
    package init(_ document: JSONDocument, at root: Int = 0) throws(RecordError) {
        self.document = document
        self.root = root
        guard document[root].kind == .object else { throw RecordError(code: .notAnObject, member: "") }
        var seen: UInt32 = 0
        for member in document.members(of: root) {
            guard let number = RecordNames.members.number(of: document.text(document[member.key])),
                let name = RecordMember(rawValue: number)
            else { continue }
            guard seen & 1 << UInt32(number) == 0 else {
                throw RecordError(code: .repeatedMember, member: name.text)
            }
            seen |= 1 << UInt32(number)
            try take(name, member.value)
        }
        for name in RecordMember.required where seen & 1 << UInt32(name.rawValue) == 0 {
            throw RecordError(code: .missingMember, member: name.text)
        }
        try readEnvelope()
    }

    private mutating func take(_ name: RecordMember, _ index: Int) throws(RecordError) {
        switch name {
        case .receivedAt: receivedAt = try integer(index, name, Self.times)
        case .timestamp: timestamp = try integer(index, name, Self.times)
        case .clientSentAt: clientSentAt = try integer(index, name, Self.times)
        case .expiresAt: expiresAt = try integer(index, name, Self.times)
        case .replays: replays = try integer(index, name, 0...1_000_000_000)
        case .timestampCorrected: isTimestampCorrected = document[index].kind == .true
        case .collection: collectionIndex = try check(index, .string, name)
        case .environment: environmentIndex = try check(index, .string, name)
        case .trusted: trustedIndex = try check(index, .object, name)
        case .envelope: envelopeIndex = try check(index, .object, name)
        case .contract: contractIndex = try check(index, .object, name)
        case .quarantine: quarantineIndex = try check(index, .object, name)
        case .origin: originIndex = try check(index, .object, name)
        case .source: sourceIndex = try check(index, .string, name)
        }
    }

    /// Seconds that can be reckoned with: a thousand years before 1970 to the year 11479.
    private static let times = -31_536_000_000...300_000_000_000

    private func integer(
        _ index: Int,
        _ name: RecordMember,
        _ range: ClosedRange<Int>
    ) throws(RecordError) -> Int {
        guard let value = document.integer(document[index]), range.contains(value) else {
            throw RecordError(code: .invalidMember, member: name.text)
        }
        return value
    }

    private func check(_ index: Int, _ kind: JSONToken.Kind, _ name: RecordMember) throws(RecordError) -> Int {
        guard document[index].kind == kind else { throw RecordError(code: .invalidMember, member: name.text) }
        return index
    }

    private mutating func readEnvelope() throws(RecordError) {
        var seen: UInt32 = 0
        for member in document.members(of: envelopeIndex) {
            guard let number = RecordNames.envelope.number(of: document.text(document[member.key])) else { continue }
            guard document[member.value].kind == .string else {
                throw RecordError(code: .invalidMember, member: "envelope." + RecordNames.envelopeTexts[number])
            }
            guard seen & 1 << UInt32(number) == 0 else {
                throw RecordError(code: .repeatedMember, member: "envelope." + RecordNames.envelopeTexts[number])
            }
            seen |= 1 << UInt32(number)
            switch number {
            case 0: eventIndex = member.value
            case 1: eventIDIndex = member.value
            case 2: anonymousIDIndex = member.value
            default: appVersionIndex = member.value
            }
        }
        if eventIndex == 0 { throw RecordError(code: .missingMember, member: "envelope.event") }
        if eventIDIndex == 0 { throw RecordError(code: .missingMember, member: "envelope.event_id") }
    }
}

/// The members of a record that readers know.
enum RecordMember: Int, CaseIterable {
    case receivedAt, collection, timestamp, timestampCorrected, clientSentAt, expiresAt, contract, environment
    case quarantine, trusted, envelope, origin, replays, source

    static let required: [RecordMember] = [.receivedAt, .collection, .timestamp, .trusted, .envelope]

    var text: String {
        switch self {
        case .receivedAt: "received_at"
        case .collection: "collection"
        case .timestamp: "timestamp"
        case .timestampCorrected: "timestamp_corrected"
        case .clientSentAt: "client_sent_at"
        case .expiresAt: "expires_at"
        case .contract: "contract"
        case .environment: "environment"
        case .quarantine: "quarantine"
        case .trusted: "trusted"
        case .envelope: "envelope"
        case .origin: "origin"
        case .replays: "replays"
        case .source: "source"
        }
    }
}

/// The names' indexes, made once.
private enum RecordNames {
    static let envelopeTexts = ["event", "event_id", "anonymous_id", "app_version"]

    // The arena lives as long as the process and nothing writes to it after it is made.
    nonisolated(unsafe) private static let arena = Arena()
    nonisolated(unsafe) static let members = NameIndex(RecordMember.allCases.map(\.text), in: arena)
    nonisolated(unsafe) static let envelope = NameIndex(envelopeTexts, in: arena)
}

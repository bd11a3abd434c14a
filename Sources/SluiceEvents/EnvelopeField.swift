// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON

/// The members of an envelope that the endpoint knows, and those that no client may send.
enum EnvelopeField: Int, CaseIterable {
    case event, eventID, occurredAt, clientSentAt, sequence, anonymousID, sessionID, userID
    case appVersion, buildNumber, platform, schemaVersion, experiments, properties
    case apiKey, collection, token

    var text: StaticString {
        switch self {
        case .event: "event"
        case .eventID: "event_id"
        case .occurredAt: "occurred_at"
        case .clientSentAt: "client_sent_at"
        case .sequence: "sequence"
        case .anonymousID: "anonymous_id"
        case .sessionID: "session_id"
        case .userID: "user_id"
        case .appVersion: "app_version"
        case .buildNumber: "build_number"
        case .platform: "platform"
        case .schemaVersion: "schema_version"
        case .experiments: "experiments"
        case .properties: "properties"
        case .apiKey: "api_key"
        case .collection: "collection"
        case .token: "token"
        }
    }

    /// Whether a client that sends it is an incident.
    var isForbidden: Bool { rawValue >= EnvelopeField.apiKey.rawValue }

    /// Whether null means the same as absence.
    var mayBeNull: Bool {
        switch self {
        case .clientSentAt, .sequence, .userID, .platform, .schemaVersion, .experiments, .properties: true
        default: false
        }
    }
}

/// Where an envelope's fields stand: token indexes, 0 for absent, for the root is no member of anything.
struct EnvelopeTokens: BitwiseCopyable {
    private var indexes = InlineArray<17, Int32>(repeating: 0)

    @inline(__always)
    subscript(field: EnvelopeField) -> Int {
        get { Int(indexes[field.rawValue]) }
        set { indexes[field.rawValue] = Int32(truncatingIfNeeded: newValue) }
    }
}

/// What validation found out about an event, in the form it is written in.
struct EventFacts {
    /// In the contract; -1 for an event that it does not list.
    var rule = -1
    var occurredAt = 0
    var clientSentAt: Int?
    var schemaVersion = 0
    /// Whether it is marked as a server's in the contract, so that its platform is `server`.
    var isServerEvent = false
    /// Whether the fields that only apps have may be missing.
    var mayOmitAppFields = false
    var platform = Text.token(0)
    var timestamp = 0
    var isTimestampCorrected = false
    /// Why it is set aside.
    var quarantine: EventCode?
    var quarantineDetail: UnsafeRawBufferPointer?

    enum Text {
        /// A string token.
        case token(Int)
        /// A JSON string.
        case json(UnsafeRawBufferPointer)
    }
}

/// A check that failed.
///
/// `@unchecked Sendable`: it is caught where the document that `name` points into is still at hand.
struct Rejection: Error, @unchecked Sendable {
    var code: EventCode
    /// A field of the envelope.
    var field: StaticString = ""
    /// A property's or experiment's name.
    var name: UnsafeRawBufferPointer?
}

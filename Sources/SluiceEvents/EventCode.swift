// SPDX-License-Identifier: Apache-2.0

/// Why one event was refused or set aside: stable texts for clients, metrics and quarantine.
///
/// Checks run in a fixed order, so an event with several faults always gets the same code. The detail names the field
/// or the property; it never holds a value.
package enum EventCode: UInt8, BitwiseCopyable, CaseIterable, Sendable {
    /// A value in it cannot be kept exactly (a whole number outside 64 bits, a number beyond a double's range), or is
    /// no JSON: half a surrogate pair, an unknown escape, too many nested brackets. Its neighbours are unaffected.
    case invalidJSON
    /// Not an object.
    case invalidEnvelope
    /// Longer than an event may be.
    case eventTooLarge
    /// A key stands twice in the envelope, its properties or its experiments.
    case duplicateKey
    /// `api_key`, `collection` or `token` where a client has no business to send them.
    case forbiddenField
    /// `event_id` is missing or not 1 to 100 of `A-Z a-z 0-9 _ - . :`.
    case invalidEventID
    /// `event` is missing or not a string of 1 to 100 characters.
    case invalidEvent
    /// The contract does not list the event.
    case unsupportedEvent
    /// The contract takes the event from servers only.
    case serverOnlyEvent
    /// `occurred_at` is missing or not a whole number of Unix seconds before the year 5138: milliseconds, fractions
    /// (`1796000000.0` too), exponents, strings and negative numbers are refused.
    case invalidOccurredAt
    /// `client_sent_at`, by the same rule; null counts as absent.
    case invalidClientSentAt
    /// `sequence` is not a whole number from 0; null counts as absent.
    case invalidSequence
    /// `anonymous_id` is missing or not a string of 1 to 100 characters without control characters.
    case invalidAnonymousID
    /// `session_id`, by the same rule.
    case invalidSessionID
    /// `user_id`, by the same rule; null and absent mean nobody.
    case invalidUserID
    /// One of the three ids contains `@`.
    case identifierNotOpaque
    /// `app_version` is missing or not a string of 1 to 50 characters without control characters.
    case invalidAppVersion
    /// `build_number`, by the same rule.
    case invalidBuildNumber
    /// `platform` is not one of the contract's, or missing (or null) without a default.
    case invalidPlatform
    /// `schema_version` is not a whole number, or missing (or null) without a default.
    case invalidSchemaVersion
    /// `schema_version` is outside the contract's window.
    case unsupportedSchemaVersion
    /// `experiments` is not an object of at most 16 variants, strings of 1 to 100 characters without control
    /// characters and `@`; null counts as absent.
    case invalidExperiments
    /// `properties` is not an object; null and absent count as an empty one.
    case invalidProperties
    /// More properties than an event may have, unlisted ones included.
    case tooManyProperties
    /// A listed property breaks its rule: type, range, length, choice, a required one that is missing, or a NUL in it.
    case invalidProperty
    /// A property or experiment that the contract does not list, where the contract says to reject.
    case unlistedProperty
    /// A property's value looks like an e-mail address, where the contract says to reject.
    case emailLikeValue
    /// Older than the clock policy allows.
    case occurredAtTooOld
    /// Further in the future than the clock policy allows.
    case occurredAtInFuture

    package var text: StaticString {
        switch self {
        case .invalidJSON: "invalid_json"
        case .invalidEnvelope: "invalid_envelope"
        case .eventTooLarge: "event_too_large"
        case .duplicateKey: "duplicate_key"
        case .forbiddenField: "forbidden_field"
        case .invalidEventID: "invalid_event_id"
        case .invalidEvent: "invalid_event"
        case .unsupportedEvent: "unsupported_event"
        case .serverOnlyEvent: "server_only_event"
        case .invalidOccurredAt: "invalid_occurred_at"
        case .invalidClientSentAt: "invalid_client_sent_at"
        case .invalidSequence: "invalid_sequence"
        case .invalidAnonymousID: "invalid_anonymous_id"
        case .invalidSessionID: "invalid_session_id"
        case .invalidUserID: "invalid_user_id"
        case .identifierNotOpaque: "identifier_not_opaque"
        case .invalidAppVersion: "invalid_app_version"
        case .invalidBuildNumber: "invalid_build_number"
        case .invalidPlatform: "invalid_platform"
        case .invalidSchemaVersion: "invalid_schema_version"
        case .unsupportedSchemaVersion: "unsupported_schema_version"
        case .invalidExperiments: "invalid_experiments"
        case .invalidProperties: "invalid_properties"
        case .tooManyProperties: "too_many_properties"
        case .invalidProperty: "invalid_property"
        case .unlistedProperty: "unlisted_property"
        case .emailLikeValue: "email_like_value"
        case .occurredAtTooOld: "occurred_at_too_old"
        case .occurredAtInFuture: "occurred_at_in_future"
        }
    }

    package init?(text: String) {
        guard let code = Self.allCases.first(where: { "\($0.text)" == text }) else { return nil }
        self = code
    }
}

/// Why a whole body was refused; nothing of it was taken.
package struct BatchRefusal: Error, Hashable, Sendable {
    package enum Code: String, CaseIterable, Sendable {
        /// Not JSON: also bytes that are not UTF-8, raw control characters, a byte order mark, and bytes behind the end.
        case invalidJSON = "invalid_json"
        /// Not an object with a list `events`.
        case invalidBatch = "invalid_batch"
        /// `events`, `client_sent_at` or `drops` stands twice.
        case duplicateKey = "duplicate_key"
        /// `api_key`, `collection` or `token` beside `events`.
        case forbiddenField = "forbidden_field"
        /// `client_sent_at` beside `events` is neither null nor a whole number of Unix seconds.
        case invalidClientSentAt = "invalid_client_sent_at"
        /// More events than a batch may have; all are refused, never the first ones taken.
        case tooManyEvents = "too_many_events"
        case bodyTooLarge = "body_too_large"
        /// No memory to parse it; the same body may be taken later.
        case outOfMemory = "out_of_memory"
    }

    package var code: Code
    /// What is wrong, without any value of the body.
    package var detail: String
    /// Where in the body, when that is known.
    package var byteOffset: Int?

    package init(_ code: Code, _ detail: String, byteOffset: Int? = nil) {
        self.code = code
        self.detail = detail
        self.byteOffset = byteOffset
    }
}

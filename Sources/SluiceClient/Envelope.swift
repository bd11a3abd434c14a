// SPDX-License-Identifier: Apache-2.0

/// One event as the endpoint's public contract has it; its bytes are made once, at `track`, and never change.
///
/// The bytes are UTF-8 JSON without white space, keys in ASCII order, absent fields left out. Strings escape only `"`,
/// `\` and what lies below a space; numbers are JavaScript's. `client_sent_at` belongs to the request, not here.
package struct Envelope: Sendable {
    package var event: String
    package var eventID: String
    /// Unix seconds, rounded down.
    package var occurredAt: Int
    package var anonymousID: String
    package var userID: String?
    package var sessionID: String
    /// The number of the event in its session, from 0.
    package var sequence: Int
    package var appVersion: String
    package var buildNumber: String
    package var platform: String
    package var schemaVersion: Int
    package var experiments: [String: String] = [:]
    package var properties: [String: SluiceValue] = [:]

    package init(
        event: String,
        eventID: String,
        occurredAt: Int,
        anonymousID: String,
        userID: String?,
        sessionID: String,
        sequence: Int,
        appVersion: String,
        buildNumber: String,
        platform: String,
        schemaVersion: Int,
        experiments: [String: String] = [:],
        properties: [String: SluiceValue] = [:]
    ) {
        self.event = event
        self.eventID = eventID
        self.occurredAt = occurredAt
        self.anonymousID = anonymousID
        self.userID = userID
        self.sessionID = sessionID
        self.sequence = sequence
        self.appVersion = appVersion
        self.buildNumber = buildNumber
        self.platform = platform
        self.schemaVersion = schemaVersion
        self.experiments = experiments
        self.properties = properties
    }

    /// The envelope's bytes; properties that cannot be written are left out and named.
    package func encoded() -> (bytes: [UInt8], malformedProperties: [String]) {
        var malformed: [String] = []
        var object = JSONObject()
        object.add("anonymous_id", anonymousID)
        object.add("app_version", appVersion)
        object.add("build_number", buildNumber)
        object.add("event", event)
        object.add("event_id", eventID)
        if !experiments.isEmpty {
            var variants = JSONObject()
            for (name, variant) in Self.inOrder(experiments) { variants.add(name, variant) }
            object.add("experiments", variants)
        }
        object.add("occurred_at", occurredAt)
        object.add("platform", platform)
        var values = JSONObject()
        for (name, value) in Self.inOrder(properties) {
            if EnvelopeRules.isName(name) && EnvelopeRules.isWritable(value) {
                values.add(name, value)
            } else {
                malformed.append(name)
            }
        }
        object.add("properties", values)
        object.add("schema_version", schemaVersion)
        object.add("sequence", sequence)
        object.add("session_id", sessionID)
        if let userID { object.add("user_id", userID) }
        return (object.bytes, malformed)
    }

    private static func inOrder<Value>(_ members: [String: Value]) -> [(key: String, value: Value)] {
        members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
}

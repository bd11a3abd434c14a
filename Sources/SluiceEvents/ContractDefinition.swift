// SPDX-License-Identifier: Apache-2.0

/// What a contract file says, checked and with its defaults filled in, in the file's order.
///
/// `Contract` is the form that events are judged by; this one is for people and tools: comparing, documenting.
package struct ContractDefinition: Sendable {
    package enum ValueType: String, CaseIterable, Sendable { case string, number, boolean }

    /// What becomes of properties and experiments that the contract does not list.
    package enum Unlisted: String, CaseIterable, Sendable { case remove, reject }

    /// What becomes of property values that look like e-mail addresses.
    package enum EmailLike: String, CaseIterable, Sendable { case reject, remove, allow }

    /// What becomes of events and schema versions that the contract does not list.
    package enum OnUnknown: String, CaseIterable, Sendable { case reject, quarantine }

    /// Who may state an event: an app, or only a server.
    package enum Source: String, CaseIterable, Sendable { case app, server }

    package enum Durability: String, CaseIterable, Sendable { case normal, low }

    /// The rule for a property in some schema versions.
    package struct Property: Sendable {
        package var name: String
        package var type: ValueType
        package var isRequired = false
        /// Strings that are allowed; empty when all are.
        package var oneOfStrings: [String] = []
        /// Numbers that are allowed; empty when all are.
        package var oneOfNumbers: [Double] = []
        package var minimum: Double?
        package var maximum: Double?
        /// Unicode scalars.
        package var maximumLength: Int?
        /// Whether a string that is a JSON number counts as that number.
        package var acceptsNumericString = false
        /// Schema versions that the rule is for.
        package var versions: ClosedRange<Int>
        package var summary: String?
        /// It stands among the common properties, and every event has it that has no rule of its own for the name.
        package var isCommon = false
    }

    package struct Event: Sendable {
        package var name: String
        /// The event's own rules and the common ones that it does not override, in byte order of their names.
        package var properties: [Property] = []
        package var collection: String?
        package var source = Source.app
        package var durability = Durability.normal
        package var expiresAfterSeconds: Int?
        package var unlisted: Unlisted
        package var emailLike: EmailLike
        package var summary: String?
    }

    /// What is filled in for a client that leaves it out.
    package struct Defaults: Sendable {
        /// A client's id, or `*` for all.
        package var client: String
        package var platform: String?
        package var schemaVersion: Int?
    }

    package var version = ""
    package var schemaVersions = 1...1
    package var platforms = ["ios", "android"]
    package var defaults: [Defaults] = []
    package var onUnknown = OnUnknown.reject
    package var unlisted = Unlisted.remove
    package var emailLike = EmailLike.reject
    package var experiments: [String] = []
    package var events: [Event] = []
    package var summary: String?

    /// Names that an event has on its way to the destination, so that no property may take them.
    package static let reservedNames: Set<String> = [
        "event", "event_id", "occurred_at", "client_sent_at", "sequence", "anonymous_id", "session_id", "user_id",
        "app_version", "build_number", "platform", "schema_version", "experiments", "properties", "account_id",
        "claimed_user_id", "client", "environment", "received_at", "timestamp_corrected", "timestamp_rounded_s",
        "contract_version",
    ]
    /// Names that begin so are the experiments'.
    package static let reservedPrefix = "experiment_"
    /// Platform of events that only a server may state.
    package static let serverPlatform = "server"
}

/// Why a contract cannot be used: every problem of it.
package struct ContractError: Error, Hashable, Sendable, CustomStringConvertible {
    package struct Problem: Hashable, Sendable, CustomStringConvertible {
        /// The member's dotted path; empty for the file as a whole.
        package var path: String
        /// From 1; 0 where there is no text to have lines.
        package var line: Int
        package var text: String

        package var description: String {
            (line > 0 ? "line \(line): " : "") + (path.isEmpty ? "" : "\(path): ") + text
        }
    }

    /// The file's name.
    package var file: String
    package var problems: [Problem]

    /// One line for each problem, each with the file's name.
    package var description: String { problems.map { "\(file): \($0)" }.joined(separator: "\n") }
}

// SPDX-License-Identifier: Apache-2.0

/// What an event is collected for; people consent by purpose.
public struct SluicePurpose: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// Its name.
    public let rawValue: String

    /// Makes a purpose of the app's own.
    ///
    /// - Parameter rawValue: lower-case letters, digits and underscores, beginning with a letter; at most 64.
    public init(rawValue: String) {
        precondition(EnvelopeRules.isName(rawValue), "a purpose is named by lower-case letters, digits and underscores")
        self.rawValue = rawValue
    }

    /// Makes a purpose of the app's own, by the same rule.
    public init(stringLiteral value: String) { self.init(rawValue: value) }

    /// How the product is used: the purpose of an event that names no other.
    public static let analytics: SluicePurpose = "analytics"
}

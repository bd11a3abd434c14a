// SPDX-License-Identifier: Apache-2.0

/// Why an event, or a part of one, did not stay; these words travel to the endpoint as counts.
public struct DropReason: RawRepresentable, Hashable, Sendable {
    /// The word in `drops`.
    public let rawValue: String

    /// Makes a reason from its word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Its purpose is not consented to, or no longer.
    public static let consent = DropReason(rawValue: "consent")
    /// The event breaks a rule that holds for all events, or the local contract.
    public static let invalid = DropReason(rawValue: "invalid")
    /// Its bytes are more than an event may have.
    public static let tooLarge = DropReason(rawValue: "too_large")
    /// The queue was full, and this was the least valuable event.
    public static let overflow = DropReason(rawValue: "overflow")
    /// It was permitted to expire and did, or it was older than the queue keeps anything.
    public static let expired = DropReason(rawValue: "expired")
    /// The storage could not take it, and memory for such events was full.
    public static let storage = DropReason(rawValue: "storage")
    /// It was in a file that was damaged.
    public static let corrupt = DropReason(rawValue: "corrupt")
    /// The endpoint refused it for good; the newest of these are kept in quarantine.
    public static let rejected = DropReason(rawValue: "rejected")
    /// A property, not the event: its name or value cannot be written.
    public static let malformedProperty = DropReason(rawValue: "malformed_property")
}

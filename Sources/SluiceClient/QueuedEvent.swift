// SPDX-License-Identifier: Apache-2.0

/// An event on its way into the queue.
struct QueuedEvent: Sendable {
    var eventID: String
    var envelope: [UInt8]
    var purpose: String
    var userID: String?
    /// Unix milliseconds, as for `expiresAt`.
    var createdAt: Int64
    /// Set only if the event may expire.
    var expiresAt: Int64?
}

/// Events that one process sends now; others leave them alone until the lease is over.
struct ClaimedBatch: Sendable {
    var events: [ClaimedEvent] = []
    /// The user whose events they are; nil before a sign-in.
    var user: String?
    /// What was lost and travels with them.
    var drops: [String: Int] = [:]
    var state: DeliveryState
}

/// Who the app's user is.
struct Identity: Hashable, Sendable {
    var anonymousID: String?
    var userID: String?
}

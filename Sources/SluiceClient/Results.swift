// SPDX-License-Identifier: Apache-2.0

/// What became of an event that was tracked.
public enum TrackResult: Hashable, Sendable {
    /// It is on disk, and leaves it only when the endpoint has named it accepted, or by a counted rule.
    case persisted(eventID: String)
    /// The storage cannot take it now: it is in memory, and written before anything else once the storage works.
    case held(eventID: String)
    /// It is gone; `detail` tells a developer which rule it broke, and never holds a value.
    case dropped(DropReason, detail: String)

    /// The event's id, if it has not been dropped.
    public var eventID: String? {
        switch self {
        case .persisted(let id), .held(let id): id
        case .dropped: nil
        }
    }
}

/// What a flush did.
public struct FlushResult: Hashable, Sendable {
    /// Why a flush ended.
    public enum End: Hashable, Sendable {
        /// Nothing that may be sent now is left.
        case finished
        /// Delivery waits: the endpoint asked for it, cannot be reached, or refuses the credentials.
        case waiting
        /// Its task was cancelled, or consent was withdrawn; events in flight keep their place.
        case cancelled
        /// Nothing may be sent, as nobody has consented.
        case noConsent
        /// The queue cannot be read or written now.
        case storageFailed
    }

    /// Events that the endpoint has accepted.
    public internal(set) var accepted = 0
    /// Events that the endpoint has refused for good.
    public internal(set) var rejected = 0
    /// Requests that were sent.
    public internal(set) var requests = 0
    /// Why it ended.
    public internal(set) var end = End.finished
}

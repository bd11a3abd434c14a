// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// How a client works; handed over once.
public struct SluiceConfiguration: Sendable {
    /// The address that takes events, such as `https://app.example.com/api/mobile-events`.
    public var endpoint: URL
    /// A folder for the queue's file, made when it is needed; on Apple systems it is excluded from backups.
    ///
    /// An app extension takes a folder of its own: a file in an app group's container may get a suspended app killed.
    public var folder: URL
    /// Names the app to the endpoint (`X-Client-ID`), for its metrics and defaults; not a secret.
    public var clientID: String?
    /// The app's version, such as `4.8.0`.
    public var appVersion: String
    /// The app's build, such as `842`.
    public var buildNumber: String
    /// What the endpoint's contract calls this platform.
    public var platform: String
    /// The version of the app's events.
    public var schemaVersion = 1
    /// The endpoint's contract, so that what it would refuse is never queued.
    public var contract: SluiceContract?
    /// What becomes of the anonymous id.
    public var identity = SluiceIdentityPolicy()
    /// Bounds of queue and requests.
    public var limits = SluiceLimits()
    /// When events are sent without being asked.
    public var delivery = SluiceDelivery.automatic(after: .seconds(30), events: 20)
    /// Gives the token that proves a user to the endpoint, or nil if there is none (any more).
    ///
    /// It is asked for each batch with that user's events, also for those queued before a sign-out or a restart. Without a
    /// token they are sent unproven. If it throws, they wait.
    public var userToken: (@concurrent @Sendable (_ user: String) async throws -> String?)?

    /// Makes a configuration with the usual policies.
    public init(endpoint: URL, folder: URL, appVersion: String, buildNumber: String, platform: String) {
        self.endpoint = endpoint
        self.folder = folder
        self.appVersion = appVersion
        self.buildNumber = buildNumber
        self.platform = platform
    }
}

/// When events are sent without being asked.
public enum SluiceDelivery: Hashable, Sendable {
    /// Some time after an event was tracked, and sooner when many are queued; again when a wait is over.
    case automatic(after: Duration, events: Int)
    /// Only by `flush()`.
    case manual
}

/// What becomes of the anonymous id; a new session begins in any case.
public struct SluiceIdentityPolicy: Hashable, Sendable {
    /// One of the three choices.
    public enum Transition: Hashable, Sendable {
        /// The id stays.
        case retain
        /// A new id takes its place at once.
        case rotate
        /// The id is removed; the next event that may be collected gets a new one.
        case clear
    }

    /// At `signOut()`, and when another user signs in without one.
    public var onSignOut = Transition.rotate
    /// When consent for a purpose is withdrawn; the signed-in user is forgotten too, unless the id is retained.
    public var onWithdrawal = Transition.clear

    /// Makes the usual policy: rotate at sign-out, clear at a withdrawal.
    public init() {}
}

/// Bounds of queue and requests.
public struct SluiceLimits: Hashable, Sendable {
    /// Events in the queue; then low-value ones go first, and the oldest first among equals.
    public var queuedEvents = 10_000
    /// Bytes of all queued events, by the same rule.
    public var queuedBytes = 16 << 20
    /// No event is kept longer once the device's clock is known to be right.
    public var maximumAge = Duration.seconds(30 * 86400)
    /// Bytes of one event.
    public var eventBytes = 32 << 10
    /// Events of a request.
    public var batchEvents = 100
    /// Bytes of a request's events.
    public var batchBytes = 256 << 10
    /// Refused events that are kept for a developer's eyes, at most 7 days.
    public var quarantinedEvents = 100
    /// A request is given up after so long.
    public var requestDeadline = Duration.seconds(30)
    /// A session ends after so long without an event.
    public var sessionTimeout = Duration.seconds(1800)

    /// Makes the usual bounds, which fit the endpoint's.
    public init() {}
}

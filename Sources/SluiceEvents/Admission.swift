// SPDX-License-Identifier: Apache-2.0

/// How large things may be; all configurable.
package struct EventLimits: Hashable, Sendable {
    /// Bytes of a body, after inflating.
    package var maximumBodyBytes: Int
    /// Events of a batch.
    package var maximumEvents: Int
    /// Bytes of one event as it was sent.
    package var maximumEventBytes: Int
    /// Properties of one event, unlisted ones included.
    package var maximumProperties: Int

    package init(
        maximumBodyBytes: Int = 1 << 20,
        maximumEvents: Int = 100,
        maximumEventBytes: Int = 32 << 10,
        maximumProperties: Int = 64
    ) {
        self.maximumBodyBytes = maximumBodyBytes
        self.maximumEvents = maximumEvents
        self.maximumEventBytes = maximumEventBytes
        self.maximumProperties = maximumProperties
    }
}

/// Under what circumstances a batch came in: everything that is known without believing the client.
package struct Admission: Sendable {
    /// A user whom a token or a trusted proxy vouches for.
    package struct User: Hashable, Sendable {
        /// UTF-8.
        package var id: [UInt8]
        /// UTF-8.
        package var account: [UInt8]?

        package init(id: [UInt8], account: [UInt8]? = nil) {
            self.id = id
            self.account = account
        }
    }

    /// What becomes of a `user_id` that nobody vouches for.
    package enum UnprovenUser: String, CaseIterable, Sendable {
        case remove
        /// Kept as the trusted field `claimed_user_id`.
        case claimed
    }

    /// Unix seconds by the server's clock.
    package var receivedAt: Int
    package var clock: ClockPolicy
    /// The GraphJSON collection of events whose contract entry does not choose one.
    package var collection: String
    /// The configured client that the batch comes from, for `defaults`.
    package var client: String?
    /// The platform that the client is known to have; overrides what events say.
    package var platform: String?
    package var user: User?
    /// Whether an event without `user_id` becomes the user's; else it stays anonymous.
    package var assignsUser: Bool
    package var unprovenUser: UnprovenUser
    /// Whether it comes from a server of one's own (`import`, or a token with the server's role): it may state
    /// server-only events, and its `user_id` is believed.
    package var isServer: Bool
    package var environment: String?

    package init(
        receivedAt: Int,
        collection: String,
        clock: ClockPolicy = ClockPolicy(),
        client: String? = nil,
        platform: String? = nil,
        user: User? = nil,
        assignsUser: Bool = false,
        unprovenUser: UnprovenUser = .remove,
        isServer: Bool = false,
        environment: String? = nil
    ) {
        self.receivedAt = receivedAt
        self.collection = collection
        self.clock = clock
        self.client = client
        self.platform = platform
        self.user = user
        self.assignsUser = assignsUser
        self.unprovenUser = unprovenUser
        self.isServer = isServer
        self.environment = environment
    }
}

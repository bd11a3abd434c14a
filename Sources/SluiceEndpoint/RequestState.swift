// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceServer

/// What is known of a request from its head on.
///
/// `@unchecked Sendable`: `charge` and what belongs to it is touched only under the budget's lock; everything else only by the
/// request's own callbacks, which come one after the other.
final class RequestState: @unchecked Sendable {
    let policy: EndpointPolicy
    let ticket: ServerTicket
    /// Whom it is from; nil behind a trusted proxy that does not say.
    let address: PeerAddress?
    let profile: Int
    /// Whether a trusted proxy or a token says which client it is.
    let isProfileProven: Bool
    let user: Admission.User?
    let isServer: Bool
    let isCompressed: Bool
    /// Keys of the rate limits.
    let addressKey: UInt64?
    let userKey: UInt64?

    // The budget's.
    var charge = 0
    var slot = -1
    var beganAt: Int64 = 0

    init(
        policy: EndpointPolicy,
        ticket: ServerTicket,
        address: PeerAddress?,
        addressKey: UInt64?,
        identity: RequestIdentity,
        userKey: UInt64?,
        isCompressed: Bool
    ) {
        self.policy = policy
        self.ticket = ticket
        self.address = address
        self.addressKey = addressKey
        profile = identity.profile
        isProfileProven = identity.isProfileProven
        user = identity.user
        isServer = identity.isServer
        self.userKey = userKey
        self.isCompressed = isCompressed
    }

    /// What the batch is judged under.
    func admission(receivedAt: Int) -> Admission {
        var admission = isProfileProven ? policy.profiles[profile].proven : policy.profiles[profile].claimed
        admission.receivedAt = receivedAt
        admission.user = user
        admission.isServer = isServer
        return admission
    }
}

/// Who a request comes from, as far as something vouches for it.
struct RequestIdentity {
    var profile = 0
    var isProfileProven = false
    var user: Admission.User?
    var isServer = false
}

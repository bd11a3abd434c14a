// SPDX-License-Identifier: Apache-2.0

/// What the destination does wrong for a while.
package struct UpstreamFault: Hashable, Sendable {
    package enum Kind: UInt32, Sendable, CaseIterable {
        case none
        /// 503 to a share of the requests.
        case unavailable
        /// 500 to a share of the requests.
        case failure
        /// 429 with Retry-After to every request.
        case tooMany
        /// 401 to every request.
        case unauthorized
        /// 413 to bodies that are too long.
        case tooLarge
        /// Takes requests and answers late.
        case slow
        /// Takes a share of the requests, and resets the connection instead of an answer.
        case cut
        /// Resets the connection of a share of the requests and takes nothing.
        case reset
    }

    package var kind: Kind
    /// A share in thousandths, seconds for Retry-After, bytes, or milliseconds, as the kind needs it.
    package var amount: UInt32

    package init(_ kind: Kind, _ amount: UInt32 = 0) {
        self.kind = kind
        self.amount = amount
    }

    var word: UInt64 { UInt64(kind.rawValue) | UInt64(amount) << 32 }

    init(word: UInt64) {
        self.init(Kind(rawValue: UInt32(truncatingIfNeeded: word)) ?? .none, UInt32(truncatingIfNeeded: word >> 32))
    }
}

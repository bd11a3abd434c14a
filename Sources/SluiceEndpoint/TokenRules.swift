// SPDX-License-Identifier: Apache-2.0

/// What a token must be like; all of it from the configuration, nothing from the token.
package struct TokenRules: Hashable, Sendable {
    package enum Algorithm: String, CaseIterable, Sendable {
        case hs256 = "HS256"
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    package var algorithm: Algorithm
    package var audience: String?
    package var issuer: String?
    package var leewaySeconds = 60
    package var userClaim = "sub"
    package var accountClaim: String?
    /// The claim that marks a backend's token.
    package var serverRoleClaim: String?
    package var serverRole = "server"
    /// The claim that names the client.
    package var clientClaim: String?

    package init(algorithm: Algorithm) {
        self.algorithm = algorithm
    }
}

/// What a token proves.
package struct TokenClaims: Hashable, Sendable {
    /// UTF-8; nil for a backend that speaks for no user.
    package var user: [UInt8]?
    package var account: [UInt8]?
    package var isServer = false
    /// The configured client that the token names.
    package var client: [UInt8]?
    /// Unix seconds.
    package var expiresAt: Double?
    package var notBefore: Double?
}

/// Why a token was refused; a stable text for metrics and answers.
package enum TokenFault: String, Error, CaseIterable, Sendable {
    /// No signature by one of the keys with the configured algorithm over something that is a token.
    case invalid = "invalid_token"
    case expired = "token_expired"
    case notYetValid = "token_not_yet_valid"
    /// Another audience or issuer than the configured one.
    case notForUs = "token_not_for_this_service"
    /// No user, or one that is no opaque id.
    case noUser = "token_without_user"
}

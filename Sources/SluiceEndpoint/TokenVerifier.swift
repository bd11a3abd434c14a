// SPDX-License-Identifier: Apache-2.0
internal import CSluiceJWT
internal import Glibc
internal import SluiceEvents
internal import SluiceJSON
internal import SluiceSystem

/// Verifies users' tokens with libjwt, and remembers those that it verified.
///
/// A token arrives with every batch of a session; checking its signature again each time would cost more than
/// everything else. What is remembered is the whole token, so only the very same bytes are a hit, and its times are
/// checked each time. Another key or configuration makes another verifier.
package final class TokenVerifier: Sendable {
    private struct Remembered: Sendable {
        var token: [UInt8]
        var claims: TokenClaims
    }

    private static let slots = 1024
    /// Longer tokens are verified each time.
    private static let rememberedBytes = 2048
    private static let maximumTokenBytes = 16 << 10

    private let rules: TokenRules
    private let keys: [[UInt8]]
    private let seed = UInt64.random(in: .min ... .max)
    private let memory = Lock([Remembered?](repeating: nil, count: slots))
    private let parser = Lock(ClaimParser())

    /// Takes the content of key files; any of them may verify a token.
    package init(_ rules: TokenRules, keys: [[UInt8]]) {
        self.rules = rules
        self.keys = keys
    }

    /// Reads key files.
    ///
    /// - Returns: nil when there are problems, which are sentences that name the file.
    package static func load(
        _ rules: TokenRules,
        keyFiles: [String],
        problems: inout [String]
    ) -> TokenVerifier? {
        var keys: [[UInt8]] = []
        let before = problems.count
        for file in keyFiles {
            do throws(SystemError) {
                var key = try FileSystem.contents(of: file, limit: 64 << 10, followLinks: true)
                if rules.algorithm == .hs256 {
                    // An editor's line end is no part of a secret.
                    while let last = key.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
                        key.removeLast()
                    }
                }
                if let problem = problem(of: key, for: rules.algorithm) {
                    problems.append("\(file): auth.key_files: \(problem)")
                } else {
                    keys.append(key)
                }
            } catch {
                problems.append("\(file): auth.key_files: the key cannot be read: \(error.reason)")
            }
        }
        return problems.count == before ? TokenVerifier(rules, keys: keys) : nil
    }

    private static func problem(of key: [UInt8], for algorithm: TokenRules.Algorithm) -> String? {
        let isPEM = key.starts(with: Array("-----BEGIN ".utf8))
        switch algorithm {
        case .hs256:
            if isPEM { return "a PEM key is no secret for HS256: whoever knows a public key could sign" }
            return key.count < 32 ? "a secret for HS256 has at least 32 bytes" : nil
        case .rs256, .es256:
            guard isPEM else { return "not a public key in PEM form" }
            let marker = Array("PRIVATE KEY-----".utf8)
            let isPrivate = key.indices.contains { key[$0...].starts(with: marker) }
            return isPrivate ? "a private key has no business here: only the public one is needed" : nil
        }
    }

    /// Verifies a token at a time in Unix seconds.
    package func verify(_ token: UnsafeRawBufferPointer, at now: Int) throws(TokenFault) -> TokenClaims {
        guard token.count <= Self.maximumTokenBytes else { throw .invalid }
        let hash = IdentityHash.value(of: token, seed: seed)
        let slot = Int(truncatingIfNeeded: hash & UInt64(Self.slots - 1))
        let known = memory.withLock { memory -> TokenClaims? in
            guard let entry = memory[slot], entry.token.elementsEqual(token) else { return nil }
            return entry.claims
        }
        if let known {
            try checkTimes(known, now)
            return known
        }
        let claims = try verifySignature(token)
        try checkTimes(claims, now)
        if token.count <= Self.rememberedBytes {
            memory.withLock { $0[slot] = Remembered(token: Array(token), claims: claims) }
        }
        return claims
    }

    private func checkTimes(_ claims: TokenClaims, _ now: Int) throws(TokenFault) {
        let leeway = Double(rules.leewaySeconds)
        if let expiresAt = claims.expiresAt, Double(now) >= expiresAt + leeway { throw .expired }
        if let notBefore = claims.notBefore, Double(now) < notBefore - leeway { throw .notYetValid }
    }

    private func verifySignature(_ token: UnsafeRawBufferPointer) throws(TokenFault) -> TokenClaims {
        // A NUL would end the C string early: what libjwt verified would not be what came.
        guard !token.contains(0) else { throw .invalid }
        var text = Array(token).map { CChar(bitPattern: $0) }
        text.append(0)
        for key in keys {
            var jwt: OpaquePointer?
            guard jwt_decode(&jwt, text, key, Int32(key.count)) == 0, let jwt else { continue }
            defer { jwt_free(jwt) }
            // libjwt verifies by the algorithm that the token names; only ours counts.
            guard jwt_get_alg(jwt) == rules.algorithm.code, let json = jwt_get_grants_json(jwt, nil) else { continue }
            defer { free(json) }
            return try parser.withLock { (parser) throws(TokenFault) in
                try parser.claims(UnsafeRawBufferPointer(start: json, count: strlen(json)), rules)
            }
        }
        throw .invalid
    }
}

extension TokenRules.Algorithm {
    fileprivate var code: jwt_alg_t {
        switch self {
        case .hs256: JWT_ALG_HS256
        case .rs256: JWT_ALG_RS256
        case .es256: JWT_ALG_ES256
        }
    }
}

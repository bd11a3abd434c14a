// SPDX-License-Identifier: Apache-2.0
internal import CSluiceJWT
internal import Glibc

/// Makes tokens as an identity provider would.
package struct TokenMint: Sendable {
    package enum Algorithm: Sendable {
        case none
        case hs256
        case hs384
        case rs256
        case es256
    }

    private let algorithm: Algorithm
    private let key: [UInt8]

    /// Makes a mint that signs with a secret, or with a private key as PEM.
    package init(_ algorithm: Algorithm, key: [UInt8] = []) {
        self.algorithm = algorithm
        self.key = key
    }

    /// A token that holds these claims, a JSON object.
    package func token(_ claims: String) -> String {
        var made: OpaquePointer?
        precondition(jwt_new(&made) == 0, "no memory for a token")
        defer { jwt_free(made) }
        precondition(jwt_add_grants_json(made, claims) == 0, "claims are a JSON object")
        if algorithm != .none {
            precondition(jwt_set_alg(made, code, key, Int32(key.count)) == 0, "a key that libjwt does not take")
        }
        guard let text = jwt_encode_str(made) else { fatalError("a key that cannot sign") }
        defer { free(text) }
        return String(cString: text)
    }

    private var code: jwt_alg_t {
        switch algorithm {
        case .none: JWT_ALG_NONE
        case .hs256: JWT_ALG_HS256
        case .hs384: JWT_ALG_HS384
        case .rs256: JWT_ALG_RS256
        case .es256: JWT_ALG_ES256
        }
    }

    /// A pair of keys as PEM, made by `openssl(1)`; nil when it is not installed.
    package static func keyPair(_ algorithm: Algorithm) throws -> (privateKey: [UInt8], publicKey: [UInt8])? {
        guard Tool.isInstalled("openssl") else { return nil }
        let folder = TemporaryFolder()
        let path = folder.path("key.pem")
        let options =
            algorithm == .es256
            ? ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"] : ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
        let openssl = Tool.path(of: "openssl") ?? ""
        _ = try ProcessRunner().run(openssl, ["genpkey", "-out", path, "-algorithm"] + options)
        let privateKey = try ProcessRunner().run(openssl, ["pkey", "-in", path]).output
        let publicKey = try ProcessRunner().run(openssl, ["pkey", "-in", path, "-pubout"]).output
        return (Array(privateKey.utf8), Array(publicKey.utf8))
    }
}

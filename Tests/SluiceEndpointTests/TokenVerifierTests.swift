// SPDX-License-Identifier: Apache-2.0
import SluiceEndpoint
import SluiceTestSupport
import Testing

struct TokenVerifierTests {
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)
    private static let now = 1_796_000_000

    private func rules(_ change: (inout TokenRules) -> Void = { _ in }) -> TokenRules {
        var rules = TokenRules(algorithm: .hs256)
        change(&rules)
        return rules
    }

    private func verify(_ token: String, _ verifier: TokenVerifier, at now: Int = now) throws -> TokenClaims {
        try Array(token.utf8).withUnsafeBytes { try verifier.verify($0, at: now) }
    }

    private func fault(_ token: String, _ verifier: TokenVerifier, at now: Int = now) -> TokenFault? {
        do {
            _ = try verify(token, verifier, at: now)
            return nil
        } catch {
            return error as? TokenFault
        }
    }

    @Test func `times count with leeway, also for a token that is known`() throws {
        let verifier = TokenVerifier(rules(), keys: [Self.secret])
        let token = TokenMint(.hs256, key: Self.secret).token(#"{"sub":"u","exp":1796000000,"nbf":1795999000}"#)
        for _ in 0..<2 {
            #expect(fault(token, verifier, at: 1_796_000_059) == nil)
            #expect(fault(token, verifier, at: 1_796_000_060) == .expired)
            #expect(fault(token, verifier, at: 1_795_998_940) == nil)
            #expect(fault(token, verifier, at: 1_795_998_939) == .notYetValid)
        }
        let fraction = TokenMint(.hs256, key: Self.secret).token(#"{"sub":"u","exp":1796000000.5}"#)
        #expect(fault(fraction, verifier, at: 1_796_000_060) == nil)
        #expect(fault(fraction, verifier, at: 1_796_000_061) == .expired)
        let text = TokenMint(.hs256, key: Self.secret).token(#"{"sub":"u","exp":"1999999999"}"#)
        #expect(fault(text, verifier) == .invalid)
    }

    @Test func `any key verifies while keys rotate, a foreign one does not`() {
        let other = Array("another secret of thirty-two bytes...".utf8)
        let token = TokenMint(.hs256, key: Self.secret).token(#"{"sub":"u"}"#)
        #expect(fault(token, TokenVerifier(rules(), keys: [other, Self.secret])) == nil)
        #expect(fault(token, TokenVerifier(rules(), keys: [other])) == .invalid)
        #expect(fault(token, TokenVerifier(rules(), keys: [])) == .invalid)
    }

    @Test func `only the configured algorithm counts`() throws {
        let verifier = TokenVerifier(rules(), keys: [Self.secret])
        #expect(fault(TokenMint(.hs384, key: Self.secret).token(#"{"sub":"u"}"#), verifier) == .invalid)
        #expect(fault(TokenMint(.none).token(#"{"sub":"u"}"#), verifier) == .invalid)
    }

    @Test(.enabled(if: Tool.isInstalled("openssl")), arguments: [TokenRules.Algorithm.rs256, .es256])
    func `public keys verify, and signing with a public key as a secret does not`(algorithm: TokenRules.Algorithm)
        throws
    {
        let kind: TokenMint.Algorithm = algorithm == .rs256 ? .rs256 : .es256
        let pair = try #require(try TokenMint.keyPair(kind))
        let verifier = TokenVerifier(rules { $0.algorithm = algorithm }, keys: [pair.publicKey])
        #expect(
            try verify(TokenMint(kind, key: pair.privateKey).token(#"{"sub":"u"}"#), verifier).user == Array("u".utf8)
        )
        #expect(fault(TokenMint(.hs256, key: pair.publicKey).token(#"{"sub":"u"}"#), verifier) == .invalid)
        let stranger = try #require(try TokenMint.keyPair(kind))
        #expect(fault(TokenMint(kind, key: stranger.privateKey).token(#"{"sub":"u"}"#), verifier) == .invalid)
    }

    @Test func `audience and issuer are checked when they are configured`() {
        let verifier = TokenVerifier(
            rules {
                $0.audience = "events"
                $0.issuer = "https://id"
            },
            keys: [Self.secret]
        )
        let mint = TokenMint(.hs256, key: Self.secret)
        #expect(fault(mint.token(#"{"sub":"u","aud":"events","iss":"https://id"}"#), verifier) == nil)
        #expect(fault(mint.token(#"{"sub":"u","aud":["a","events"],"iss":"https://id"}"#), verifier) == nil)
        for claims in [
            #"{"sub":"u","iss":"https://id"}"#, #"{"sub":"u","aud":"other","iss":"https://id"}"#,
            #"{"sub":"u","aud":[],"iss":"https://id"}"#, #"{"sub":"u","aud":"events"}"#,
            #"{"sub":"u","aud":"events","iss":"https://id2"}"#,
        ] {
            #expect(fault(mint.token(claims), verifier) == .notForUs)
        }
    }

    @Test(
        arguments: [
            (#"{"sub":"u-1"}"#, "u-1"), (#"{"sub":42}"#, "42"), (#"{"sub":"a@b.c"}"#, nil), (#"{"sub":""}"#, nil),
            (#"{}"#, nil),
            (#"{"sub":true}"#, nil), (#"{"sub":["u"]}"#, nil), (#"{"sub":"a\nb"}"#, nil),
        ] as [(String, String?)]
    )
    func `the user is an opaque id or the token is refused`(claims: String, user: String?) {
        let verifier = TokenVerifier(rules(), keys: [Self.secret])
        let token = TokenMint(.hs256, key: Self.secret).token(claims)
        #expect(fault(token, verifier) == (user == nil ? .noUser : nil))
        if let user { #expect((try? verify(token, verifier))?.user == Array(user.utf8)) }
    }

    @Test func `any changed byte is refused`() {
        let verifier = TokenVerifier(rules(), keys: [Self.secret])
        let token = Array(TokenMint(.hs256, key: Self.secret).token(#"{"sub":"user-1","account_id":"a"}"#).utf8)
        #expect(fault(String(decoding: token, as: UTF8.self), verifier) == nil)
        // The last digit of base64 may hold bits that count for nothing.
        for index in token.indices.dropLast() {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(fault(String(decoding: changed, as: UTF8.self), verifier) == .invalid, "byte \(index)")
        }
        for text in ["", ".", "..", "...", "a.b", String(repeating: "x", count: 20_000)] {
            #expect(fault(text, verifier) == .invalid)
        }
    }

    @Test func `keys that cannot be meant are refused with their file`() throws {
        let folder = TemporaryFolder()
        let short = try folder.write("short\n", to: "short")
        let pem = try folder.write("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n", to: "pem")
        let secret = try folder.write("-----BEGIN PRIVATE KEY-----\nMFkw\n-----END PRIVATE KEY-----\n", to: "private")
        var problems: [String] = []
        #expect(TokenVerifier.load(rules(), keyFiles: [short, pem, folder.path("none")], problems: &problems) == nil)
        #expect(problems.count == 3)
        #expect(problems.allSatisfy { $0.contains("auth.key_files") && $0.hasPrefix(folder.path) })
        problems = []
        #expect(
            TokenVerifier.load(rules { $0.algorithm = .rs256 }, keyFiles: [short, secret], problems: &problems) == nil
        )
        #expect(problems.count == 2)
        problems = []
        #expect(TokenVerifier.load(rules { $0.algorithm = .rs256 }, keyFiles: [pem], problems: &problems) != nil)
    }
}

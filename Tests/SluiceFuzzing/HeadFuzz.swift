// SPDX-License-Identifier: Apache-2.0
internal import SluiceEndpoint
internal import SluiceServer
internal import SluiceSystem
internal import SluiceTestSupport

/// Head fields mean the same in any case and with blanks around; a token proves no more than its claims say.
///
/// The input's lines are, in this order: Content-Type, Content-Encoding, Authorization, X-Forwarded-For, networks with
/// commas between them, and claims in JSON.
final class HeadFuzz {
    /// What the tokens among the kept inputs are signed with.
    package static let key = Array("a secret of thirty-two bytes, 32".utf8)

    private let verifier: TokenVerifier
    private let rules: TokenRules
    private var claims = ClaimParser()

    init() {
        var rules = TokenRules(algorithm: .hs256)
        rules.audience = "sluice"
        rules.accountClaim = "account"
        rules.serverRoleClaim = "role"
        rules.clientClaim = "client"
        self.rules = rules
        verifier = TokenVerifier(rules, keys: [Self.key])
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        let lines = input.split(separator: 0x0A, maxSplits: 5, omittingEmptySubsequences: false).map { Array($0) }
        try checkMedia(lines[0])
        if lines.count > 1 { try checkCoding(lines[1]) }
        if lines.count > 2 { try checkToken(lines[2]) }
        if lines.count > 4 { try checkAddress(lines[3], lines[4]) }
        if lines.count > 5 { try checkClaims(lines[5]) }
    }

    // MARK: - Media type and coding

    private func checkMedia(_ value: [UInt8]) throws {
        let isJSON = value.withUnsafeBytes { MediaType.isJSON($0) }
        for twin in Self.twins(value) {
            try hold(twin.withUnsafeBytes { MediaType.isJSON($0) } == isJSON, "a media type depends on case or blanks")
        }
        guard isJSON else { return }
        let text = value.drop { $0 == 0x20 || $0 == 0x09 }.map(Self.small)
        try hold(text.starts(with: "application/json".utf8), "another media type passes for JSON")
        let plain = value + Array("; charset=utf-16".utf8)
        try hold(!plain.withUnsafeBytes { MediaType.isJSON($0) }, "another charset passes for UTF-8")
    }

    private func checkCoding(_ value: [UInt8]) throws {
        let coding = value.withUnsafeBytes { MediaType.coding($0) }
        for twin in Self.twins(value) {
            try hold(twin.withUnsafeBytes { MediaType.coding($0) } == coding, "a coding depends on case or blanks")
        }
        let text = String(decoding: value.map(Self.small), as: UTF8.self)
        if coding == .gzip { try hold(text.contains("gzip") && !text.contains(","), "\(text) passes for gzip") }
    }

    private static func small(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func twins(_ value: [UInt8]) -> [[UInt8]] {
        let capitals = value.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 & ~0x20 : $0 }
        return [value.map(small), capitals, [0x20, 0x09] + value + [0x09, 0x20]]
    }

    // MARK: - Tokens

    private func checkToken(_ value: [UInt8]) throws {
        guard let token = value.withUnsafeBytes({ MediaType.bearerToken($0).map { Array($0) } }) else { return }
        try hold(!token.isEmpty && token.count <= value.count - 7, "a token is as long as its field")
        try hold(token.first != 0x20 && token.last != 0x20, "a token with blanks around it")
        guard let claims = verify(token) else { return }
        try hold(verify(token) == claims, "a token proves something else the second time")
        try hold(token.count { $0 == UInt8(ascii: ".") } == 2, "a token of other than three parts")
        try hold(claims.isServer || claims.user != nil, "a token that proves nothing")
        // The last letter of a signature has two bits that mean nothing, the one before it none.
        let place = token.count - 2
        for other in "AZaz09-_".utf8 where other != token[place] {
            var forged = token
            forged[place] = other
            try hold(verify(forged) == nil, "a forged signature passes")
        }
        try hold(verify(token + [UInt8(ascii: "A")]) == nil, "a longer signature passes")
    }

    private func verify(_ token: [UInt8]) -> TokenClaims? {
        token.withUnsafeBytes { try? verifier.verify($0, at: FuzzRules.receivedAt) }  // refused: nil
    }

    private func checkClaims(_ json: [UInt8]) throws {
        let read = json.withUnsafeBytes { try? claims.claims($0, rules) }  // refused: nil
        guard let read else { return }
        let plain = try need(PlainJSON(json), "claims that are no JSON")
        try hold(read.isServer || read.user != nil, "claims that prove nothing")
        for name in [read.user, read.account].compactMap({ $0 }) {
            let text = try need(String(validating: name, as: UTF8.self), "an id that is no text")
            try hold((1...100).contains(text.unicodeScalars.count) && !text.contains("@"), "\(text) is no opaque id")
        }
        if let user = read.user, let text = plain["sub"]?.text { try hold(text == user, "another user than the claim") }
        if let audience = plain["aud"]?.text { try hold(audience.elementsEqual("sluice".utf8), "another audience") }
        for (name, time) in [("exp", read.expiresAt), ("nbf", read.notBefore)] {
            try hold((plain[name] == nil) == (time == nil), "\(name) was not read")
        }
    }

    // MARK: - Addresses

    private func checkAddress(_ forwarded: [UInt8], _ networks: [UInt8]) throws {
        let texts = networks.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard let trusted = NetworkList(parsing: texts) else { return }
        for text in texts {
            let address = try need(PeerAddress(parsing: String(text.prefix { $0 != "/" })), "a network without address")
            try hold(trusted.contains(address), "a network does not contain its own address")
            try hold(PeerAddress(parsing: address.description) == address, "an address is read as another one")
        }
        let client = forwarded.withUnsafeBytes { ClientAddress.behindProxies($0, trusted: trusted) }
        if let client { try hold(!trusted.contains(client), "a proxy passes for a client") }
        // Whoever stands in front of a client's address may claim what it likes.
        let claimed = Array("192.0.2.1, ".utf8) + forwarded
        if let client, claimed.count <= 4096 {
            try hold(
                claimed.withUnsafeBytes { ClientAddress.behindProxies($0, trusted: trusted) } == client,
                "a client chooses its own address"
            )
        }
    }
}

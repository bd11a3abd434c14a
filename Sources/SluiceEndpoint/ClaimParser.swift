// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceJSON
internal import SluiceSystem

/// Reads the claims of a token whose signature is verified.
///
/// `@unchecked Sendable`: the parser and the buffer are its own, and it lives behind a lock.
package struct ClaimParser: ~Copyable, @unchecked Sendable {
    private let parser = JSONParser(maximumBytes: 16 << 10)
    private var buffer = ByteBuffer()

    package init() {}

    package mutating func claims(_ json: UnsafeRawBufferPointer, _ rules: TokenRules) throws(TokenFault) -> TokenClaims
    {
        buffer.removeAll()
        buffer.append(json)
        guard let document = try? parser.parse(buffer.bytes), document[0].kind == .object else {  // any fault is one
            throw .invalid
        }
        var claims = TokenClaims()
        claims.expiresAt = try time("exp", document)
        claims.notBefore = try time("nbf", document)
        if let audience = rules.audience, !holds("aud", audience, document) { throw .notForUs }
        if let issuer = rules.issuer, text("iss", document).map({ $0 == Array(issuer.utf8) }) != true {
            throw .notForUs
        }
        if let claim = rules.serverRoleClaim { claims.isServer = holds(claim, rules.serverRole, document) }
        if let claim = rules.clientClaim { claims.client = text(claim, document) }
        if let claim = rules.accountClaim { claims.account = text(claim, document) }
        claims.user = text(rules.userClaim, document)
        if let account = claims.account, !OpaqueID.isValid(account) { claims.account = nil }
        if let user = claims.user, OpaqueID.isValid(user) { return claims }
        guard claims.isServer else { throw .noUser }
        // A backend's subject is its own name, whatever that looks like.
        claims.user = nil
        claims.account = nil
        return claims
    }

    private func value(_ name: String, _ document: borrowing JSONDocument) -> Int? {
        let name = Array(name.utf8)
        for member in document.members(of: 0) where document.text(document[member.key]).elementsEqual(name) {
            return member.value
        }
        return nil
    }

    /// A time must be a number where it stands: a token whose end cannot be read would never end.
    private func time(_ name: String, _ document: borrowing JSONDocument) throws(TokenFault) -> Double? {
        guard let index = value(name, document) else { return nil }
        guard document[index].kind == .integer || document[index].kind == .number else { throw .invalid }
        return document.double(document[index])
    }

    /// A string, or a whole number by its digits.
    private func text(_ name: String, _ document: borrowing JSONDocument) -> [UInt8]? {
        guard let index = value(name, document) else { return nil }
        switch document[index].kind {
        case .string: return Array(document.text(document[index]))
        case .integer: return Array(document.raw(document[index]))
        default: return nil
        }
    }

    /// Whether a claim is a string, or a list that holds it.
    private func holds(_ name: String, _ wanted: String, _ document: borrowing JSONDocument) -> Bool {
        guard let index = value(name, document) else { return false }
        let wanted = Array(wanted.utf8)
        if document[index].kind == .string { return document.text(document[index]).elementsEqual(wanted) }
        guard document[index].kind == .array else { return false }
        for element in document.elements(of: index) where document[element].kind == .string {
            if document.text(document[element]).elementsEqual(wanted) { return true }
        }
        return false
    }
}

/// The rule for ids that stand for a person.
package enum OpaqueID {
    /// 1 to 100 characters of UTF-8 without control characters and `@`.
    package static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        guard (1...400).contains(bytes.count),
            !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "@") })
        else { return false }
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.count <= 100
    }
}

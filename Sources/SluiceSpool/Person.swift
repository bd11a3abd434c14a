// SPDX-License-Identifier: Apache-2.0
package import SluiceJSON

/// Whom records are about: a user or an anonymous id, compared byte by byte.
///
/// A user is the one in `trusted.user_id`, whom a token, a proxy or a server of one's own vouched for, or in
/// `trusted.claimed_user_id`, whom the app only named. `account_id` is nobody: it names a customer with any number of
/// people, and never stands without the `user_id` of the one who acted.
package struct Person: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case user, anonymous
    }

    package var kind: Kind
    /// UTF-8, unescaped.
    package var id: [UInt8]

    package init(_ kind: Kind, _ id: some StringProtocol) {
        self.kind = kind
        self.id = Array(id.utf8)
    }

    /// Whether a record is about this person.
    ///
    /// * `record`: the token of the record's object.
    package func isMeant(by document: JSONDocument, record: Int) -> Bool {
        PersonFields.contains(in: document, record: record) { kind, text in
            kind == self.kind && text.elementsEqual(id)
        }
    }
}

/// Where a record says whom it is about.
enum PersonFields {
    /// Whether `isMeant` holds for one of the ids of a record; it is called with each until it does.
    static func contains(
        in document: JSONDocument,
        record: Int,
        where isMeant: (Person.Kind, UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        contains(
            in: document,
            trusted: document.value(of: "trusted", in: record) ?? 0,
            envelope: document.value(of: "envelope", in: record) ?? 0,
            where: isMeant
        )
    }

    /// The same for a record whose parts are known; 0 stands for a part that is not there.
    @inline(__always)
    static func contains(
        in document: JSONDocument,
        trusted: Int,
        envelope: Int,
        where isMeant: (Person.Kind, UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        // No record of this product has a user in the envelope; a foreign one may.
        for part in [trusted, envelope] where part != 0 && contains(in: document, members: part, where: isMeant) {
            return true
        }
        return false
    }

    /// The same for an object that holds the ids itself.
    static func contains(
        in document: JSONDocument,
        members object: Int,
        where isMeant: (Person.Kind, UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        for member in document.members(of: object) where document[member.value].kind == .string {
            let key = document[member.key]
            let kind: Person.Kind
            switch document.text(key).count {
            case 7 where document.text(key, equals: "user_id"): kind = .user
            case 12 where document.text(key, equals: "anonymous_id"): kind = .anonymous
            case 15 where document.text(key, equals: "claimed_user_id"): kind = .user
            default: continue
            }
            if isMeant(kind, document.text(document[member.value])) { return true }
        }
        return false
    }
}

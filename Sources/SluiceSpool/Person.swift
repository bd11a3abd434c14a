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
        // A record that a part stands in twice is refused, but it may be in quarantine.
        document.members(of: record).contains { part in
            if document.text(document[part.key], equals: "trusted") {
                return contains(in: document, trusted: part.value, anonymousID: nil, where: isMeant)
            }
            guard document.text(document[part.key], equals: "envelope") else { return false }
            return document.members(of: part.value).contains { member in
                document.text(document[member.key], equals: "anonymous_id")
                    && contains(in: document, trusted: nil, anonymousID: member.value, where: isMeant)
            }
        }
    }

    /// The same for a record whose parts are known.
    @inline(__always)
    static func contains(
        in document: JSONDocument,
        trusted: Int?,
        anonymousID: Int?,
        where isMeant: (Person.Kind, UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        if let anonymousID, document[anonymousID].kind == .string,
            isMeant(.anonymous, document.text(document[anonymousID]))
        {
            return true
        }
        guard let trusted else { return false }
        for member in document.members(of: trusted) where isUser(document, member.key) {
            let value = document[member.value]
            if value.kind == .string && isMeant(.user, document.text(value)) { return true }
        }
        return false
    }

    /// The same for an event in the flat form that goes to the destination.
    static func contains(
        inEvent document: JSONDocument,
        where isMeant: (Person.Kind, UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        contains(
            in: document,
            trusted: 0,
            anonymousID: document.value(of: "anonymous_id", in: 0),
            where: isMeant
        )
    }

    @inline(__always)
    private static func isUser(_ document: JSONDocument, _ key: Int) -> Bool {
        let token = document[key]
        switch document.text(token).count {
        case 7: return document.text(token, equals: "user_id")
        case 15: return document.text(token, equals: "claimed_user_id")
        default: return false
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import SluiceJSON
internal import SluiceSystem

/// Whose records are to be forgotten, and up to which time of receipt; persons stand in it as hashes only.
package struct ErasureBook: Sendable {
    /// 128 bits, seeded for each spool: no two persons of one spool share one, and the list names nobody.
    package struct PersonHash: Hashable, Sendable {
        var high: UInt64
        var low: UInt64
    }

    package struct Entry: Hashable, Sendable {
        package var kind: Person.Kind
        /// Unix seconds: records that were received then or earlier go; later ones are new.
        package var until: Int
        /// Unix seconds of the request.
        package var notedAt: Int
    }

    let seed: UInt64
    package private(set) var entries: [PersonHash: Entry] = [:]
    /// The latest `until` of all.
    private(set) var latestUntil = Int.min
    /// Unix seconds of the last look at all of quarantine for every person that was listed then.
    package private(set) var sweptAt = Int.min
    private var latestNotedAt = Int.min
    /// A bit for each entry's hash, sixteen times as many as entries at least: most persons are told from it alone.
    private var filter: [UInt64] = [0]

    init(seed: UInt64) { self.seed = seed }

    package var isEmpty: Bool { entries.isEmpty }

    /// Whether nothing in quarantine is left to be looked at for a person of the list.
    package var isSwept: Bool { isEmpty || sweptAt >= latestNotedAt }

    mutating func take(_ hash: PersonHash, _ entry: Entry) {
        let before = entries[hash]
        entries[hash] = Entry(
            kind: entry.kind,
            until: max(entry.until, before?.until ?? .min),
            notedAt: max(entry.notedAt, before?.notedAt ?? .min)
        )
        if entries.count * 16 > filter.count * 64 { growFilter() }
        mark(hash)
        latestUntil = max(latestUntil, entry.until)
        latestNotedAt = max(latestNotedAt, entry.notedAt)
    }

    private mutating func mark(_ hash: PersonHash) {
        filter[Int(truncatingIfNeeded: hash.low >> 6) & (filter.count - 1)] |= 1 << (hash.low & 63)
    }

    private mutating func growFilter() {
        filter = [UInt64](repeating: 0, count: filter.count * 4)
        for hash in entries.keys { mark(hash) }
    }

    mutating func noteSweep(at seconds: Int) { sweptAt = max(sweptAt, seconds) }

    // MARK: Persons

    func hash(of kind: Person.Kind, _ id: UnsafeRawBufferPointer) -> PersonHash {
        // The kind goes into the seed: a user and an anonymous id of one text are two persons.
        let (high, low) = Checksum.wideXXH3(id, seed: kind == .user ? seed : ~seed)
        return PersonHash(high: high, low: low)
    }

    func hash(of person: Person) -> PersonHash { person.id.withUnsafeBytes { hash(of: person.kind, $0) } }

    /// Whether a record of this person that was received at that time is to be forgotten.
    package func covers(_ person: Person, receivedAt: Int) -> Bool {
        entries[hash(of: person)].map { receivedAt <= $0.until } ?? false
    }

    @inline(__always)
    private func covers(_ kind: Person.Kind, _ id: UnsafeRawBufferPointer, _ receivedAt: Int) -> Bool {
        let hash = hash(of: kind, id)
        guard filter[Int(truncatingIfNeeded: hash.low >> 6) & (filter.count - 1)] >> (hash.low & 63) & 1 == 1 else {
            return false
        }
        return entries[hash].map { receivedAt <= $0.until } ?? false
    }

    /// Whether a record is to be forgotten.
    ///
    /// * `trusted`, `anonymousID`: the tokens of these parts of it.
    package func covers(_ document: JSONDocument, receivedAt: Int, trusted: Int, anonymousID: Int?) -> Bool {
        guard receivedAt <= latestUntil else { return false }
        return PersonFields.contains(in: document, trusted: trusted, anonymousID: anonymousID) { kind, id in
            covers(kind, id, receivedAt)
        }
    }

    /// Whether a record is to be forgotten; one without a time of receipt counts as received before everything.
    ///
    /// * `record`: the token of the record's object.
    package func covers(_ document: JSONDocument, record: Int) -> Bool {
        let receivedAt = Self.receivedAt(document, record)
        guard receivedAt <= latestUntil else { return false }
        return PersonFields.contains(in: document, record: record) { covers($0, $1, receivedAt) }
    }

    /// The same for an event in the flat form that goes to the destination.
    package func covers(event document: JSONDocument) -> Bool {
        let receivedAt = Self.receivedAt(document, 0)
        guard receivedAt <= latestUntil else { return false }
        return PersonFields.contains(inEvent: document) { covers($0, $1, receivedAt) }
    }

    private static func receivedAt(_ document: JSONDocument, _ object: Int) -> Int {
        document.value(of: "received_at", in: object).flatMap { document.integer(document[$0]) } ?? .min
    }
}

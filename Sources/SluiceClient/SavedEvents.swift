// SPDX-License-Identifier: Apache-2.0
internal import Foundation

/// What could be read from a damaged file.
struct SavedEvents {
    private var events: [QueuedEvent] = []
    private var purposes: Set<String> = []
    private var identity = Identity()
    /// Events that the file says it had; nil when even that is lost.
    private var known: Int?

    /// Reads from the front as far as it goes, then from the end as far as that goes.
    ///
    /// - Parameters:
    ///   - path: the damaged file.
    ///   - limit: the most events.
    ///   - consent: the purposes that this process knows to be granted, in case the file does not tell.
    init(fromDamaged path: String, limit: Int, consent: Set<String>) {
        purposes = consent
        guard let database = try? Database(path, creates: false) else { return }  // nothing can be read
        // Each of these may fail for itself.
        try? database.each("SELECT purpose FROM consent") { row in
            purposes.insert(row.text(0))
            return true
        }
        try? database.each("SELECT name, value FROM settings WHERE name IN ('anonymous_id', 'user_id')") { row in
            if row.text(0) == "user_id" { identity.userID = row.text(1) } else { identity.anonymousID = row.text(1) }
            return true
        }
        known = (try? database.first("SELECT events FROM totals") { $0.count(0) }) ?? nil
        var found: [Int64: QueuedEvent] = [:]
        for order in ["ASC", "DESC"] {
            let query = """
                SELECT seq, event_id, envelope, purpose, user_id, created_at, expires_at FROM queue ORDER BY seq \(order)
                """
            try? database.each(query) { row in
                let event = QueuedEvent(
                    eventID: row.text(1),
                    envelope: row.bytes(2),
                    purpose: row.text(3),
                    userID: row.textIfAny(4),
                    createdAt: row.integer(5),
                    expiresAt: row.integerIfAny(6)
                )
                // An id in other bytes than at `track` would be another event.
                if event.isWhole { found[row.integer(0)] = event }
                return found.count < limit
            }
        }
        events = found.sorted { $0.key < $1.key }.map(\.value)
        // An event is only ever in the queue while its purpose is granted.
        purposes.formUnion(events.map(\.purpose).filter { EnvelopeRules.isName($0) })
    }

    /// Writes it into a new file, with the count of what is lost; a file whose loss is unknown counts as one event.
    func write(to queue: EventQueue, now: Int64) throws(StorageError) {
        try queue.database.transaction { () throws(StorageError) in
            for purpose in purposes { try queue.database.run("INSERT INTO consent VALUES (?)", .text(purpose)) }
            try queue.set("anonymous_id", identity.anonymousID)
            try queue.set("user_id", identity.userID)
            try queue.restore(events, now: now)
            try queue.count(.corrupt, known.map { max(0, $0 - events.count) } ?? 1)
        }
    }
}

extension QueuedEvent {
    fileprivate var isWhole: Bool {
        guard envelope.first == UInt8(ascii: "{"), envelope.last == UInt8(ascii: "}") else { return false }
        return String(bytes: envelope, encoding: .utf8)?.contains("\"\(eventID)\"") ?? false
    }
}

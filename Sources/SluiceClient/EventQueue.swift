// SPDX-License-Identifier: Apache-2.0

/// The queue's tables: each function is one transaction, which another process sees whole or not at all.
final class EventQueue {
    let database: Database
    let limits: SluiceLimits

    init(_ path: String, creates: Bool, limits: SluiceLimits) throws(StorageError) {
        database = try Database(path, creates: creates)
        self.limits = limits
        try QueueSchema.prepare(database)
    }

    // MARK: - Settings

    /// A number that differs after another process has changed anything.
    func dataVersion() throws(StorageError) -> Int64 {
        try database.first("PRAGMA data_version") { $0.integer(0) } ?? 0
    }

    func setting(_ name: String) throws(StorageError) -> String? {
        try database.first("SELECT value FROM settings WHERE name = ?", .text(name)) { $0.text(0) }
    }

    func set(_ name: String, _ value: String?) throws(StorageError) {
        if let value {
            try database.run("INSERT OR REPLACE INTO settings VALUES (?, ?)", .text(name), .text(value))
        } else {
            try database.run("DELETE FROM settings WHERE name = ?", .text(name))
        }
    }

    func identity() throws(StorageError) -> Identity {
        Identity(anonymousID: try setting("anonymous_id"), userID: try setting("user_id"))
    }

    /// Changes the identity, if anything is consented to.
    ///
    /// - Returns: whether it did.
    func edit(_ edits: [@Sendable (inout Identity) -> Void]) throws(StorageError) -> Bool {
        try database.transaction { () throws(StorageError) in
            if try grantedPurposes().isEmpty { return false }
            var identity = try identity()
            for edit in edits { edit(&identity) }
            try set("anonymous_id", identity.anonymousID)
            try set("user_id", identity.userID)
            return true
        }
    }

    // MARK: - Enqueueing

    /// Puts an event at the end, if its purpose is consented to at this moment; makes room if it has to.
    ///
    /// - Returns: how many events the queue has now; nil without consent.
    func enqueue(_ event: QueuedEvent, now: Int64) throws(StorageError) -> Int? {
        try database.transaction { () throws(StorageError) in
            guard try isGranted(event.purpose) else { return nil }
            let count = try makeRoom(for: event.envelope.count, now: now)
            try insert(event)
            return count + 1
        }
    }

    /// Puts events at the end that were made earlier: what could not be written before, or was saved from a damaged file.
    func restore(_ events: [QueuedEvent], now: Int64) throws(StorageError) {
        for event in events where try isGranted(event.purpose) {
            _ = try makeRoom(for: event.envelope.count, now: now)
            try insert(event)
        }
    }

    private func insert(_ event: QueuedEvent) throws(StorageError) {
        try database.run(
            """
            INSERT OR IGNORE INTO queue
            (event_id, envelope, size, purpose, user_id, created_at, next_attempt_at, expires_at)
            VALUES (?, ?, ?, ?, ?, ?, 0, ?)
            """,
            .text(event.eventID),
            .bytes(event.envelope),
            .integer(event.envelope.count),
            .text(event.purpose),
            .text(event.userID),
            .integer(event.createdAt),
            .integer(event.expiresAt)
        )
    }

    /// Removes the least valuable events until one of so many bytes fits: what may expire first, then the oldest, and
    /// what is being sent last.
    private func makeRoom(for bytes: Int, now: Int64) throws(StorageError) -> Int {
        var totals = try totals()
        while totals.events >= limits.queuedEvents || totals.bytes + bytes > limits.queuedBytes {
            guard let victim = try leastValuable(now: now) else { break }
            try database.run("DELETE FROM queue WHERE seq = ?", .integer(victim))
            try count(.overflow, 1)
            totals = try self.totals()
        }
        return totals.events
    }

    private func leastValuable(now: Int64) throws(StorageError) -> Int64? {
        for condition in ["expires_at IS NOT NULL AND next_attempt_at <= ?1", "next_attempt_at <= ?1", "?1 = ?1"] {
            let query = "SELECT seq FROM queue WHERE \(condition) ORDER BY seq LIMIT 1"
            if let seq = try database.first(query, .integer(now), read: { $0.integer(0) }) { return seq }
        }
        return nil
    }

    func totals() throws(StorageError) -> (events: Int, bytes: Int) {
        try database.first("SELECT events, bytes FROM totals") { ($0.count(0), $0.count(1)) } ?? (0, 0)
    }

    // MARK: - Drops

    /// Counts what was lost; inside a transaction.
    func count(_ reason: DropReason, _ lost: Int) throws(StorageError) {
        guard lost > 0 else { return }
        try database.run("INSERT OR IGNORE INTO drops VALUES (?, 0)", .text(reason.rawValue))
        try database.run("UPDATE drops SET lost = lost + ? WHERE reason = ?", .integer(lost), .text(reason.rawValue))
    }

    func drops() throws(StorageError) -> [String: Int] {
        var drops: [String: Int] = [:]
        try database.each("SELECT reason, lost FROM drops") { row in
            drops[row.text(0)] = row.count(1)
            return true
        }
        return drops
    }
}

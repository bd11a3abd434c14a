// SPDX-License-Identifier: Apache-2.0

/// The tables of the queue's file, in SQL that SQLite 3.9 knows, and the way to them from older versions.
///
/// Times are Unix milliseconds of the device's clock.
enum QueueSchema {
    /// `user_version` of the files that this library writes.
    static let version: Int64 = 1

    /// Makes the tables, or brings an older file's up to date, in one transaction.
    ///
    /// - Throws: `newer` for a file of a later version.
    static func prepare(_ database: Database) throws(StorageError) {
        for setting in settings { try database.run("PRAGMA \(setting)") }
        guard try found(database) != version else { return }
        try database.transaction { () throws(StorageError) in
            let found = try found(database)
            if found == version { return }  // another process was first
            guard found < version else {
                throw StorageError(kind: .newer, code: 0, detail: "the file has version \(found)")
            }
            for statement in tables { try database.run(statement) }
            try adoptVersion0(database)
            try database.run("PRAGMA user_version = \(version)")
        }
    }

    private static func found(_ database: Database) throws(StorageError) -> Int64 {
        try database.first("PRAGMA user_version") { $0.integer(0) } ?? 0
    }

    /// Version 0 had one table `events(id, event_id, body, created_at)` with whole seconds, and knew neither purposes nor users.
    private static func adoptVersion0(_ database: Database) throws(StorageError) {
        let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'events'"
        guard try database.first(table, read: { _ in true }) != nil else { return }
        try database.run(
            """
            INSERT OR IGNORE INTO queue (event_id, envelope, size, purpose, created_at, next_attempt_at)
            SELECT event_id, CAST(body AS BLOB), length(CAST(body AS BLOB)), 'analytics', created_at * 1000, 0
            FROM events ORDER BY id
            """
        )
        try database.run("DROP TABLE events")
    }

    private static let settings = [
        "auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON",
    ]

    private static let tables = [
        """
        CREATE TABLE queue (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            event_id TEXT NOT NULL UNIQUE,
            envelope BLOB NOT NULL,
            size INTEGER NOT NULL,
            purpose TEXT NOT NULL,
            user_id TEXT,
            created_at INTEGER NOT NULL,
            attempt_count INTEGER NOT NULL DEFAULT 0,
            next_attempt_at INTEGER NOT NULL,
            expires_at INTEGER,
            last_error_class TEXT
        )
        """,
        // The order of sending: the oldest first, but what a server failed on again and again behind the others.
        """
        CREATE INDEX queue_order ON queue ((attempt_count >= 8 AND last_error_class IS 'server_error'), seq)
        """,
        // What may expire is what goes first when there is no room.
        "CREATE INDEX queue_expiring ON queue (seq) WHERE expires_at IS NOT NULL",
        """
        CREATE TABLE quarantine (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            event_id TEXT NOT NULL,
            envelope BLOB NOT NULL,
            purpose TEXT NOT NULL,
            user_id TEXT,
            created_at INTEGER NOT NULL,
            attempt_count INTEGER NOT NULL,
            quarantined_at INTEGER NOT NULL,
            reason TEXT NOT NULL
        )
        """,
        // Count and bytes of the queue, kept by triggers, so that every process knows them without counting.
        "CREATE TABLE totals (events INTEGER NOT NULL, bytes INTEGER NOT NULL)",
        "INSERT INTO totals VALUES (0, 0)",
        """
        CREATE TRIGGER queue_added AFTER INSERT ON queue BEGIN
            UPDATE totals SET events = events + 1, bytes = bytes + new.size;
        END
        """,
        """
        CREATE TRIGGER queue_removed AFTER DELETE ON queue BEGIN
            UPDATE totals SET events = events - 1, bytes = bytes - old.size;
        END
        """,
        // What was lost and not yet reported, by reason.
        "CREATE TABLE drops (reason TEXT PRIMARY KEY, lost INTEGER NOT NULL)",
        // Purposes that are consented to.
        "CREATE TABLE consent (purpose TEXT PRIMARY KEY)",
        // Until when something waits: `delivery`, `drops` (being sent by a process), `user:` with an id behind it.
        "CREATE TABLE timers (name TEXT PRIMARY KEY, until INTEGER NOT NULL)",
        // consent_known, anonymous_id, user_id, failures, batch_limit.
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    ]
}

// SPDX-License-Identifier: Apache-2.0

extension EventQueue {
    /// What there is to send.
    enum Claim {
        case batch(ClaimedBatch)
        case nothing
        /// Delivery waits.
        case waiting
        case noConsent
    }

    /// Times further ahead than this were set before the clock was put back, and count as passed.
    static func horizon(_ now: Int64) -> Int64 { now + Backoff.maximumMilliseconds + 1000 }

    /// Takes the next events of one user for sending, until the lease is over.
    func claim(now: Int64, lease: Duration) throws(StorageError) -> Claim {
        try database.transaction { () throws(StorageError) in
            if try grantedPurposes().isEmpty { return .noConsent }
            if try isRunning("delivery", now) { return .waiting }
            var batch = ClaimedBatch(state: try deliveryState())
            let rows = try takeDue(into: &batch, now)
            if rows.isEmpty { return .nothing }
            for row in rows {
                try database.run(
                    "UPDATE queue SET attempt_count = attempt_count + 1, next_attempt_at = ? WHERE seq = ?",
                    .integer(now + lease.milliseconds),
                    .integer(row)
                )
            }
            if try !isRunning("drops", now) {
                batch.drops = try drops()
                if !batch.drops.isEmpty { try start("drops", until: now + lease.milliseconds) }
            }
            return .batch(batch)
        }
    }

    private func takeDue(into batch: inout ClaimedBatch, _ now: Int64) throws(StorageError) -> [Int64] {
        var meter = BatchMeter(
            maximumEvents: min(limits.batchEvents, batch.state.batchLimit),
            maximumBytes: limits.batchBytes
        )
        var rows: [Int64] = []
        var taken = batch
        let query = """
            SELECT seq, event_id, envelope, attempt_count, user_id, size FROM queue
            WHERE (next_attempt_at <= ?1 OR next_attempt_at > ?2) AND (expires_at IS NULL OR expires_at > ?1)
                AND purpose IN (SELECT purpose FROM consent)
                AND NOT EXISTS (
                    SELECT 1 FROM timers WHERE name = 'user:' || queue.user_id AND until > ?1 AND until <= ?2
                )
            ORDER BY (attempt_count >= 8 AND last_error_class IS 'server_error'), seq
            """
        try database.each(query, [.integer(now), .integer(Self.horizon(now))]) { row in
            let user = row.textIfAny(4)
            if rows.isEmpty { taken.user = user }
            guard user.map({ Array($0.utf8) }) == taken.user.map({ Array($0.utf8) }) else { return true }
            guard meter.take(row.count(5)) else { return false }
            rows.append(row.integer(0))
            taken.events.append(
                ClaimedEvent(eventID: row.text(1), envelope: row.bytes(2), attempts: row.count(3) + 1)
            )
            return meter.count < meter.maximumEvents
        }
        batch = taken
        return rows
    }

    // MARK: - Timers

    func isRunning(_ timer: String, _ now: Int64) throws(StorageError) -> Bool {
        let until = try database.first("SELECT until FROM timers WHERE name = ?", .text(timer)) { $0.integer(0) } ?? 0
        return until > now && until <= Self.horizon(now)
    }

    func start(_ timer: String, until: Int64) throws(StorageError) {
        try database.run("INSERT OR REPLACE INTO timers VALUES (?, ?)", .text(timer), .integer(until))
    }

    func stop(_ timer: String) throws(StorageError) {
        try database.run("DELETE FROM timers WHERE name = ?", .text(timer))
    }

    /// When something can be sent next; nil when there is nothing.
    func nextDue(now: Int64) throws(StorageError) -> Int64? {
        let query = """
            SELECT min(max(next_attempt_at, ifnull(timers.until, 0))) FROM queue
            LEFT JOIN timers ON timers.name = 'user:' || queue.user_id
            """
        guard let due = try database.first(query, read: { $0.integerIfAny(0) }) ?? nil else { return nil }
        let pause = try database.first("SELECT until FROM timers WHERE name = 'delivery'") { $0.integer(0) } ?? 0
        let next = max(due, pause)
        return next > Self.horizon(now) ? now : max(next, now)
    }

    func deliveryState() throws(StorageError) -> DeliveryState {
        DeliveryState(
            failures: try setting("failures").flatMap { Int($0) } ?? 0,
            batchLimit: max(1, try setting("batch_limit").flatMap { Int($0) } ?? limits.batchEvents)
        )
    }
}

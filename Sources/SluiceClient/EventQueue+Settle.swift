// SPDX-License-Identifier: Apache-2.0

extension EventQueue {
    /// Refused events are kept for so long.
    private static let quarantineMilliseconds: Int64 = 7 * 86_400_000
    /// An event from before this moment, in 2025, was stamped by a wrong clock: it is no measure of age.
    private static let plausible: Int64 = 1_735_689_600_000

    /// Carries out what follows from an answer.
    func settle(_ outcome: DeliveryOutcome, of batch: ClaimedBatch, now: Int64) throws(StorageError) {
        try database.transaction { () throws(StorageError) in
            for id in outcome.accepted { try remove(id) }
            for event in outcome.rejected { try quarantine(event, now) }
            for id in outcome.kept {
                try database.run(
                    """
                    UPDATE queue SET next_attempt_at = ?, last_error_class = ?, attempt_count = max(0, attempt_count - ?)
                    WHERE event_id = ?
                    """,
                    .integer(outcome.keptMilliseconds > 0 ? now + outcome.keptMilliseconds : 0),
                    .text(outcome.errorClass.rawValue),
                    .integer(outcome.countsAttempt ? 0 : 1),
                    .text(id)
                )
            }
            if !batch.drops.isEmpty {
                if outcome.isAcknowledged { try subtract(batch.drops) }
                try stop("drops")
            }
            if let pause = outcome.pause {
                let timer = pause.scope == .everything ? "delivery" : "user:\(batch.user ?? "")"
                try start(timer, until: now + pause.milliseconds)
            }
            try set("failures", outcome.state.failures == 0 ? nil : String(outcome.state.failures))
            try set("batch_limit", String(outcome.state.batchLimit))
        }
    }

    private func remove(_ id: String) throws(StorageError) {
        try database.run("DELETE FROM queue WHERE event_id = ?", .text(id))
    }

    private func quarantine(_ event: DeliveryOutcome.Rejected, _ now: Int64) throws(StorageError) {
        try database.run(
            """
            INSERT INTO quarantine
            (event_id, envelope, purpose, user_id, created_at, attempt_count, quarantined_at, reason)
            SELECT event_id, envelope, purpose, user_id, created_at, attempt_count, ?, ? FROM queue WHERE event_id = ?
            """,
            .integer(now),
            .text(event.code),
            .text(event.eventID)
        )
        try count(.rejected, database.changes)
        try remove(event.eventID)
        try database.run(
            "DELETE FROM quarantine WHERE seq <= (SELECT max(seq) FROM quarantine) - ?",
            .integer(limits.quarantinedEvents)
        )
    }

    private func subtract(_ drops: [String: Int]) throws(StorageError) {
        for (reason, lost) in drops {
            try database.run("UPDATE drops SET lost = lost - ? WHERE reason = ?", .integer(lost), .text(reason))
        }
        try database.run("DELETE FROM drops WHERE lost <= 0")
    }

    // MARK: - Age

    /// Removes what is too old; only to be called when the clock is known to be right.
    func expire(now: Int64) throws(StorageError) {
        try database.transaction { () throws(StorageError) in
            try database.run("DELETE FROM queue WHERE expires_at <= ?", .integer(now))
            try count(.expired, database.changes)
            try database.run(
                "DELETE FROM queue WHERE created_at < ? AND created_at > ?",
                .integer(now - limits.maximumAge.milliseconds),
                .integer(Self.plausible)
            )
            try count(.expired, database.changes)
            try database.run(
                "DELETE FROM quarantine WHERE quarantined_at < ?",
                .integer(now - Self.quarantineMilliseconds)
            )
        }
    }

    /// Gives room back to the system after a delivery.
    func shrink() throws(StorageError) {
        let free = try database.first("PRAGMA freelist_count") { $0.count(0) } ?? 0
        guard free > 64 else { return }
        try database.run("PRAGMA incremental_vacuum")
        try scrub()
    }
}

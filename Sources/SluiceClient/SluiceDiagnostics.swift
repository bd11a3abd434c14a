// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// What a developer may want to see of a client.
public struct SluiceDiagnostics: Sendable {
    /// Events on disk that wait to be delivered.
    public internal(set) var queuedEvents = 0
    /// Their bytes.
    public internal(set) var queuedBytes = 0
    /// Events in memory that could not be written yet.
    public internal(set) var heldEvents = 0
    /// When the oldest queued event was tracked.
    public internal(set) var oldestQueued: Date?
    /// Why events are still queued after they were sent, with their number.
    public internal(set) var lastErrors: [String: Int] = [:]
    /// Refused events that are kept, by the endpoint's code.
    public internal(set) var quarantined: [String: Int] = [:]
    /// What was lost and not yet reported to the endpoint, by reason.
    public internal(set) var drops: [DropReason: Int] = [:]
    /// Until when all delivery waits.
    public internal(set) var deliveryPausedUntil: Date?
    /// Purposes that are consented to.
    public internal(set) var consent: Set<SluicePurpose> = []
    /// The anonymous id, if there is one.
    public internal(set) var anonymousID: String?
    /// The signed-in user, if there is one.
    public internal(set) var userID: String?
    /// Why the storage cannot be used now; nil while it works, or while there is none because nothing is consented to.
    public internal(set) var storageProblem: String?
}

extension SluiceClient {
    /// What a developer may want to see.
    public func diagnostics() -> SluiceDiagnostics {
        var seen = SluiceDiagnostics()
        let now = environment.now()
        do throws(StorageError) {
            try withQueue { (queue) throws(StorageError) in try queue.describe(in: &seen, now: now) }
        } catch {
            if error.kind != .absent { seen.storageProblem = error.description }
        }
        seen.heldEvents = pending.events.count
        for (reason, lost) in pending.drops { seen.drops[reason, default: 0] += lost }
        seen.consent = Set(consent.filter { EnvelopeRules.isName($0) }.map { SluicePurpose(rawValue: $0) })
        seen.anonymousID = identity.anonymousID
        seen.userID = identity.userID
        return seen
    }
}

extension EventQueue {
    fileprivate func describe(in seen: inout SluiceDiagnostics, now: Int64) throws(StorageError) {
        (seen.queuedEvents, seen.queuedBytes) = try totals()
        seen.oldestQueued = try database.first("SELECT min(created_at) FROM queue") { $0.integerIfAny(0) }?
            .map { Date(timeIntervalSince1970: Double($0) / 1000) }
        seen.lastErrors = try counts(
            "SELECT last_error_class, count(*) FROM queue WHERE last_error_class IS NOT NULL GROUP BY last_error_class"
        )
        seen.quarantined = try counts("SELECT reason, count(*) FROM quarantine GROUP BY reason")
        for (reason, lost) in try drops() { seen.drops[DropReason(rawValue: reason)] = lost }
        let pause = try database.first("SELECT until FROM timers WHERE name = 'delivery'") { $0.integer(0) }
        if let pause, try isRunning("delivery", now) {
            seen.deliveryPausedUntil = Date(timeIntervalSince1970: Double(pause) / 1000)
        }
    }

    private func counts(_ query: String) throws(StorageError) -> [String: Int] {
        var counts: [String: Int] = [:]
        try database.each(query) { row in
            counts[row.text(0)] = row.count(1)
            return true
        }
        return counts
    }
}

// SPDX-License-Identifier: Apache-2.0

extension EventQueue {
    func isGranted(_ purpose: String) throws(StorageError) -> Bool {
        try database.first("SELECT 1 FROM consent WHERE purpose = ?", .text(purpose)) { _ in true } ?? false
    }

    func grantedPurposes() throws(StorageError) -> Set<String> {
        var purposes: Set<String> = []
        try database.each("SELECT purpose FROM consent") { row in
            purposes.insert(row.text(0))
            return true
        }
        return purposes
    }

    /// Consents to these purposes and to no others: events of others leave queue and quarantine, counted, and identity
    /// changes as the policy says if one of the purposes was granted before.
    ///
    /// - Parameters:
    ///   - purposes: all that are granted.
    ///   - onWithdrawal: what becomes of the identity then.
    ///   - newAnonymousID: for a policy that rotates it.
    /// - Throws: when nothing has changed.
    func setConsent(
        _ purposes: Set<String>,
        onWithdrawal: SluiceIdentityPolicy.Transition,
        newAnonymousID: String
    ) throws(StorageError) {
        try database.transaction { () throws(StorageError) in
            let isWithdrawal = try !grantedPurposes().isSubset(of: purposes)
            try database.run("DELETE FROM consent")
            for purpose in purposes.sorted() { try database.run("INSERT INTO consent VALUES (?)", .text(purpose)) }
            try database.run("DELETE FROM queue WHERE purpose NOT IN (SELECT purpose FROM consent)")
            try count(.consent, database.changes)
            try database.run("DELETE FROM quarantine WHERE purpose NOT IN (SELECT purpose FROM consent)")
            guard isWithdrawal, onWithdrawal != .retain else { return }
            try set("anonymous_id", onWithdrawal == .rotate && !purposes.isEmpty ? newAnonymousID : nil)
            try set("user_id", nil)
            try database.run("DELETE FROM timers WHERE name LIKE 'user:%'")
        }
    }

    /// Takes what was removed out of the file, too: the log of changes still holds it.
    func scrub() throws(StorageError) {
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    }
}

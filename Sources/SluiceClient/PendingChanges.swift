// SPDX-License-Identifier: Apache-2.0

/// What happened while the storage could not take it; written in this order before anything else once it can.
struct PendingChanges {
    /// Events that wait here at most; more are dropped and counted.
    static let maximumEvents = 1000

    struct Consent {
        var purposes: Set<String>
        var onWithdrawal: SluiceIdentityPolicy.Transition
        var newAnonymousID: String
    }

    var consents: [Consent] = []
    /// Changes to the stored identity, whatever it is by then; they wait for consent, too.
    var identityEdits: [@Sendable (inout Identity) -> Void] = []
    var outcomes: [(outcome: DeliveryOutcome, batch: ClaimedBatch)] = []
    var events: [QueuedEvent] = []
    var drops: [DropReason: Int] = [:]

    mutating func count(_ reason: DropReason) { drops[reason, default: 0] += 1 }

    /// Keeps an event for later, or drops it if there is no room.
    ///
    /// - Returns: whether it is kept.
    mutating func hold(_ event: QueuedEvent) -> Bool {
        guard events.count < Self.maximumEvents else {
            count(.storage)
            return false
        }
        events.append(event)
        return true
    }

    /// Writes each part, and forgets it once it is written.
    mutating func write(to queue: EventQueue, now: Int64) throws(StorageError) {
        while let change = consents.first {
            try queue.setConsent(
                change.purposes,
                onWithdrawal: change.onWithdrawal,
                newAnonymousID: change.newAnonymousID
            )
            consents.removeFirst()
        }
        if !identityEdits.isEmpty, try queue.edit(identityEdits) { identityEdits = [] }
        while let settled = outcomes.first {
            try queue.settle(settled.outcome, of: settled.batch, now: now)
            outcomes.removeFirst()
        }
        guard !events.isEmpty || !drops.isEmpty else { return }
        let (events, drops) = (events, drops)
        try queue.database.transaction { () throws(StorageError) in
            try queue.restore(events, now: now)
            for (reason, lost) in drops { try queue.count(reason, lost) }
        }
        self.events = []
        self.drops = [:]
    }
}

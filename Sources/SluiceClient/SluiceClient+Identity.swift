// SPDX-License-Identifier: Apache-2.0

extension SluiceClient {
    /// Consents to these purposes and to no others.
    ///
    /// Queued events of other purposes are removed and counted, in one transaction with the change; if a purpose was granted
    /// before, the identity changes as the policy says, and a delivery under way is stopped. What the endpoint has received by
    /// then cannot be called back. Granting begins new collection and removes nothing.
    ///
    /// - Parameter purposes: all that are granted; an empty set denies everything.
    /// - Throws: `SluiceError` with the code `storage` when the change could not be written down yet. It holds in this
    ///   process and is written as soon as possible; until then a new launch would know only the earlier choice.
    public func setConsent(_ purposes: Set<SluicePurpose>) throws(SluiceError) {
        try? withQueue { _ throws(StorageError) in }  // what was granted before, if that can be read
        let granted = Set(purposes.map(\.rawValue))
        let isWithdrawal = !consent.isSubset(of: granted)
        let policy = configuration.identity.onWithdrawal
        let newAnonymousID = EventID.make(environment.random)
        pending.consents.append(.init(purposes: granted, onWithdrawal: policy, newAnonymousID: newAnonymousID))
        pending.events.removeAll { event in
            if granted.contains(event.purpose) { return false }
            pending.count(.consent)
            return true
        }
        consent = granted
        storage.consent = granted
        if isWithdrawal {
            delivery?.cancel()
            storage.removeDamaged()
            if policy != .retain {
                pending.identityEdits = []
                identity = Identity(anonymousID: policy == .rotate && !granted.isEmpty ? newAnonymousID : nil)
                session = nil
            }
        }
        do throws(StorageError) {
            try withQueue { (queue) throws(StorageError) in if isWithdrawal { try queue.scrub() } }
        } catch {
            if error.kind == .absent {
                pending.consents = []  // nothing was ever granted or written
            } else if !pending.consents.isEmpty {
                throw SluiceError(.storage, "\(error)")
            }
        }
    }

    /// Names the user of events from now on; earlier ones stay as they are.
    ///
    /// The anonymous id stays too, unless another user was signed in: then the policy for a sign-out comes first.
    ///
    /// - Parameter user: an opaque id, never an e-mail address.
    /// - Throws: `SluiceError` with the code `invalidIdentifier`; then nothing has changed.
    public func signIn(user: String) throws(SluiceError) {
        guard EnvelopeRules.isIdentifier(user), !EmailLike.isFound(in: user) else {
            throw SluiceError(.invalidIdentifier, "user")
        }
        try? withQueue { _ throws(StorageError) in }  // who was signed in before, if that can be read
        if let other = identity.userID, !other.utf8.elementsEqual(user.utf8) { signOut() }
        editIdentity { $0.userID = user }
        // A token that was refused may be a new one now.
        try? withQueue { (queue) throws(StorageError) in try queue.stop("user:\(user)") }
    }

    /// Forgets the user for events from now on, begins a new session, and treats the anonymous id as the policy says.
    ///
    /// Queued events keep their user, and are sent.
    public func signOut() {
        session = nil
        let newAnonymousID = EventID.make(environment.random)
        let policy = configuration.identity.onSignOut
        editIdentity { identity in
            identity.userID = nil
            switch policy {
            case .retain: break
            case .rotate: identity.anonymousID = newAnonymousID
            case .clear: identity.anonymousID = nil
            }
        }
    }

    /// Changes the identity here at once, and in the storage as soon as it can be written and anything is consented to.
    func editIdentity(_ edit: @escaping @Sendable (inout Identity) -> Void) {
        edit(&identity)
        pending.identityEdits.append(edit)
        guard !consent.isEmpty else { return }
        // Another process may have been first: then its choice is read back.
        if let stored = try? withQueue({ (queue) throws(StorageError) in try queue.identity() }) { identity = stored }
    }
}

// SPDX-License-Identifier: Apache-2.0

extension SluiceClient {
    /// Takes an event: it is on disk when this returns, or the result says what became of it.
    ///
    /// It never waits for the network. Who and when, session, release and experiments are fixed here, whatever changes until
    /// the event is sent.
    ///
    /// - Parameters:
    ///   - event: a name as the contract has it: lower-case letters, digits and underscores, at most 64.
    ///   - properties: named alike; one that cannot be written is left out and counted, and the event stays.
    ///   - purpose: what it is collected for.
    ///   - lifetime: how long it is worth sending; nil, the usual, never lets it expire unless the local contract does.
    /// - Returns: what became of it.
    @discardableResult
    public func track(
        _ event: String,
        _ properties: [String: SluiceValue] = [:],
        purpose: SluicePurpose = .analytics,
        lifetime: Duration? = nil
    ) -> TrackResult {
        if let refusal = refusal(of: purpose) { return refusal }
        let now = environment.now()
        let made: (event: QueuedEvent, malformed: Int)
        do throws(Refusal) {
            made = try queuedEvent(event, properties, purpose, lifetime, now)
        } catch {
            count(error.reason)
            return .dropped(error.reason, detail: error.detail)
        }
        let result = enqueue(made.event, now)
        for _ in 0..<made.malformed { count(.malformedProperty) }
        return result
    }

    /// Attaches these experiments to events from now on; they are not kept over launches.
    ///
    /// - Parameter assignments: variants by the experiments' names, at most 16.
    /// - Throws: `SluiceError` with the code `invalidExperiments`; then nothing has changed.
    public func setExperiments(_ assignments: [String: String]) throws(SluiceError) {
        guard assignments.count <= EnvelopeRules.maximumExperiments else {
            throw SluiceError(.invalidExperiments, "more than \(EnvelopeRules.maximumExperiments)")
        }
        for (name, variant) in assignments
        where !EnvelopeRules.isName(name) || !EnvelopeRules.isIdentifier(variant) {
            throw SluiceError(.invalidExperiments, name)
        }
        experiments = assignments
    }

    // MARK: - Steps

    private struct Refusal: Error {
        var reason: DropReason
        var detail: String
    }

    /// What keeps an event of this purpose from being collected; it is not even counted.
    private func refusal(of purpose: SluicePurpose) -> TrackResult? {
        do throws(StorageError) {
            try withQueue { _ throws(StorageError) in }
        } catch {
            // Without a file nothing has been consented to. A file that cannot be read leaves what is known from before.
            if error.kind != .absent && !isConsentKnown {
                return .dropped(.storage, detail: "consent cannot be read: \(error)")
            }
        }
        if consent.contains(purpose.rawValue) { return nil }
        return .dropped(.consent, detail: "nobody has consented to \(purpose.rawValue)")
    }

    private func queuedEvent(
        _ event: String,
        _ properties: [String: SluiceValue],
        _ purpose: SluicePurpose,
        _ lifetime: Duration?,
        _ now: Int64
    ) throws(Refusal) -> (event: QueuedEvent, malformed: Int) {
        guard EnvelopeRules.isName(event) else {
            throw Refusal(reason: .invalid, detail: "the event's name breaks the rule for names")
        }
        var envelope = newEnvelope(event, now)
        envelope.properties = properties
        try apply(configuration.contract, to: &envelope)
        let (bytes, malformed) = envelope.encoded()
        guard envelope.properties.count - malformed.count <= EnvelopeRules.maximumProperties else {
            throw Refusal(reason: .invalid, detail: "more than \(EnvelopeRules.maximumProperties) properties")
        }
        guard bytes.count <= configuration.limits.eventBytes else {
            throw Refusal(reason: .tooLarge, detail: "\(bytes.count) bytes are more than an event may have")
        }
        let lifetime = lifetime ?? configuration.contract?.lifetime(of: event)
        let queued = QueuedEvent(
            eventID: envelope.eventID,
            envelope: bytes,
            purpose: purpose.rawValue,
            userID: envelope.userID,
            createdAt: now,
            expiresAt: lifetime.map { now + $0.milliseconds }
        )
        return (queued, malformed.count)
    }

    /// An envelope with everything that is attached centrally.
    private func newEnvelope(_ event: String, _ now: Int64) -> Envelope {
        if identity.anonymousID == nil {
            let candidate = EventID.make(environment.random)
            editIdentity { $0.anonymousID = $0.anonymousID ?? candidate }
        }
        let session = currentSession(now)
        return Envelope(
            event: event,
            eventID: EventID.make(environment.random),
            occurredAt: Int(max(0, now) / 1000),
            anonymousID: identity.anonymousID ?? "",
            userID: identity.userID,
            sessionID: session.id,
            sequence: session.sequence,
            appVersion: configuration.appVersion,
            buildNumber: configuration.buildNumber,
            platform: configuration.platform,
            schemaVersion: configuration.schemaVersion,
            experiments: experiments
        )
    }

    private func currentSession(_ now: Int64) -> Session {
        if let session, session.continues(at: now, timeout: configuration.limits.sessionTimeout) { return session }
        let begun = Session(id: EventID.make(environment.random), now: now)
        session = begun
        return begun
    }

    private func apply(_ contract: SluiceContract?, to envelope: inout Envelope) throws(Refusal) {
        guard let contract else { return }
        // What cannot be written is no property that the contract could judge.
        let writable = envelope.properties.filter { EnvelopeRules.isName($0.key) && EnvelopeRules.isWritable($0.value) }
        let verdict = contract.verdict(
            event: envelope.event,
            properties: writable,
            experiments: envelope.experiments,
            schemaVersion: envelope.schemaVersion
        )
        switch verdict {
        case .refused(let detail): throw Refusal(reason: .invalid, detail: detail)
        case .allowed(let removed):
            for name in removed {
                envelope.properties[name] = nil
                envelope.experiments[name] = nil
            }
        }
    }

    private func enqueue(_ event: QueuedEvent, _ now: Int64) -> TrackResult {
        do throws(StorageError) {
            guard let count = try withQueue({ (queue) throws(StorageError) in try queue.enqueue(event, now: now) })
            else {
                return .dropped(.consent, detail: "consent for \(event.purpose) was withdrawn by another process")
            }
            session?.advance(at: now)
            scheduleDelivery(queued: count, now)
            return .persisted(eventID: event.eventID)
        } catch {
            guard pending.hold(event) else { return .dropped(.storage, detail: "\(error)") }
            session?.advance(at: now)
            scheduleDelivery(queued: 0, now)
            return .held(eventID: event.eventID)
        }
    }

    private func count(_ reason: DropReason) {
        pending.count(reason)
        try? withQueue { _ throws(StorageError) in }  // else it is written later
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

extension EventJudge {
    /// What an event is judged under: a batch's admission, or what its record says when it is judged again.
    struct Circumstances {
        var receivedAt: Int
        var clock: ClockPolicy
        var batchClientSentAt: Int?
        var isServer: Bool
        /// The client's defaults.
        var defaults: ClientDefaults
        /// The platform that overrides the event's, as a JSON string; empty for none.
        var platform: UnsafeRawBufferPointer
    }

    mutating func prepare(_ admission: borrowing Admission, _ contract: Contract) {
        frame.prepare(admission, contract)
        marks.makeRoom(for: contract.maximumPropertyCount)
    }

    /// Judges the event at token `index` and adds its verdict; writes its record if it is taken.
    mutating func judgeEvent(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ batchClientSentAt: Int?,
        _ admission: borrowing Admission,
        _ contract: Contract,
        _ records: inout ByteBuffer,
        _ verdict: inout BatchVerdict
    ) {
        let circumstances = Circumstances(
            receivedAt: admission.receivedAt,
            clock: admission.clock,
            batchClientSentAt: batchClientSentAt,
            isServer: admission.isServer,
            defaults: frame.client < 0 ? contract.otherDefaults : contract.clientDefaults[frame.client],
            platform: frame.platform
        )
        var event = EventVerdict()
        var tokens = EnvelopeTokens()
        var facts = EventFacts()
        do throws(Rejection) {
            try collect(document, index, &tokens)
            try validate(document, tokens, circumstances, contract, &facts)
        } catch {
            event.event = Int32(facts.rule)
            event.id = keepID(document, tokens[.eventID], &verdict)
            event.code = error.code
            event.detail = error.name.map { verdict.keep(name: $0) } ?? verdict.keep(error.field)
            verdict.add(event)
            return
        }
        let user = judgeUser(document, tokens[.userID], admission, &verdict)
        write(document, index, tokens, facts, user, contract, &records)
        event.outcome = facts.quarantine == nil ? .accepted : .quarantined
        event.code = facts.quarantine ?? event.code
        event.isClamped = facts.isTimestampCorrected
        event.event = Int32(facts.rule)
        event.identity = identity(document, tokens[.anonymousID])
        event.id = verdict.keep(document.text(document[tokens[.eventID]]))
        keepRemoved(document, &event, &verdict)
        verdict.add(event)
    }

    // MARK: - Members

    /// Finds the envelope's fields; unknown ones go to `removedFields`.
    mutating func collect(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ tokens: inout EnvelopeTokens
    ) throws(Rejection) {
        if !removedFields.isEmpty { removedFields.removeAll(keepingCapacity: true) }
        let event = document[index]
        guard event.kind == .object else { throw Rejection(code: .invalidEnvelope) }
        if Int(event.length) > limits.maximumEventBytes { throw Rejection(code: .eventTooLarge) }
        var seen: UInt32 = 0
        var fault: Rejection?
        for member in document.members(of: index) {
            let name = document.text(document[member.key])
            guard let number = fields.number(of: name), let field = EnvelopeField(rawValue: number) else {
                removedFields.append(Int32(truncatingIfNeeded: member.key))
                continue
            }
            if seen & 1 << UInt32(number) != 0 && fault == nil {
                fault = Rejection(code: .duplicateKey, field: field.text)
            }
            seen |= 1 << UInt32(number)
            // A forbidden field is told even when another fault is met first.
            if field.isForbidden { fault = Rejection(code: .forbiddenField, field: field.text) }
            if document[member.value].kind != .null || !field.mayBeNull { tokens[field] = member.value }
        }
        if let fault { throw fault }
        if let twice = firstDuplicate(document, removedFields) { throw Rejection(code: .duplicateKey, name: twice) }
    }

    /// The name of a key that stands twice among `keys`, which may be many.
    func firstDuplicate(_ document: borrowing JSONDocument, _ keys: [Int32]) -> UnsafeRawBufferPointer? {
        guard keys.count > 1 else { return nil }
        if keys.count <= 8 {
            for later in 1..<keys.count {
                let name = document.text(document[Int(keys[later])])
                for earlier in 0..<later where document.text(document[Int(keys[earlier])]).isEqual(to: name) {
                    return name
                }
            }
            return nil
        }
        var names: [UnsafeRawBufferPointer] = []
        for key in keys { names.append(document.text(document[Int(key)])) }
        names.sort { $0.lexicographicallyPrecedes($1) }
        for index in 1..<names.count where names[index].isEqual(to: names[index - 1]) { return names[index] }
        return nil
    }

    // MARK: - Fields

    mutating func validate(
        _ document: borrowing JSONDocument,
        _ tokens: EnvelopeTokens,
        _ circumstances: Circumstances,
        _ contract: Contract,
        _ facts: inout EventFacts
    ) throws(Rejection) {
        guard isEventID(document, tokens[.eventID]) else { throw Rejection(code: .invalidEventID, field: "event_id") }
        try findRule(document, tokens[.event], circumstances, contract, &facts)
        guard tokens[.occurredAt] != 0, let occurredAt = document.seconds(tokens[.occurredAt]) else {
            throw Rejection(code: .invalidOccurredAt, field: "occurred_at")
        }
        facts.occurredAt = occurredAt
        facts.clientSentAt = circumstances.batchClientSentAt
        if tokens[.clientSentAt] != 0 {
            guard let sentAt = document.seconds(tokens[.clientSentAt]) else {
                throw Rejection(code: .invalidClientSentAt, field: "client_sent_at")
            }
            facts.clientSentAt = sentAt
        }
        if tokens[.sequence] != 0 {
            guard document.integer(document[tokens[.sequence]]) != nil, document.isUnsigned(tokens[.sequence]) else {
                throw Rejection(code: .invalidSequence, field: "sequence")
            }
        }
        let mayOmit = facts.mayOmitAppFields
        try checkIdentifier(document, tokens[.anonymousID], .invalidAnonymousID, "anonymous_id", mayOmit: mayOmit)
        try checkIdentifier(document, tokens[.sessionID], .invalidSessionID, "session_id", mayOmit: mayOmit)
        try checkIdentifier(document, tokens[.userID], .invalidUserID, "user_id", mayOmit: true)
        try checkVersion(document, tokens[.appVersion], .invalidAppVersion, "app_version", mayOmit: mayOmit)
        try checkVersion(document, tokens[.buildNumber], .invalidBuildNumber, "build_number", mayOmit: mayOmit)
        try findPlatform(document, tokens[.platform], circumstances, contract, &facts)
        try findSchemaVersion(document, tokens[.schemaVersion], circumstances, contract, &facts)
        try checkExperiments(document, tokens[.experiments], contract, facts)
        try checkProperties(document, tokens[.properties], contract, facts)
        try judgeClock(circumstances, &facts)
    }

    private func findRule(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ circumstances: Circumstances,
        _ contract: Contract,
        _ facts: inout EventFacts
    ) throws(Rejection) {
        guard index != 0, document[index].kind == .string else { throw Rejection(code: .invalidEvent, field: "event") }
        let name = document.text(document[index])
        guard let number = contract.events.number(of: name) else {
            guard contract.definition.onUnknown == .quarantine else {
                throw Rejection(code: .unsupportedEvent, field: "event")
            }
            guard isText(document, index, limit: 100) else { throw Rejection(code: .invalidEvent, field: "event") }
            facts.quarantine = .unsupportedEvent
            facts.mayOmitAppFields = circumstances.isServer
            return
        }
        facts.rule = number
        if contract.eventRules[number].isServerOnly {
            guard circumstances.isServer else { throw Rejection(code: .serverOnlyEvent, field: "event") }
            facts.isServerEvent = true
            facts.mayOmitAppFields = true
        }
    }

    private func findPlatform(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ circumstances: Circumstances,
        _ contract: Contract,
        _ facts: inout EventFacts
    ) throws(Rejection) {
        if facts.isServerEvent {
            facts.platform = .json(contract.serverPlatform)
        } else if !circumstances.platform.isEmpty {
            facts.platform = .json(circumstances.platform)
        } else if index != 0 {
            guard document[index].kind == .string,
                contract.platforms.number(of: document.text(document[index])) != nil
            else { throw Rejection(code: .invalidPlatform, field: "platform") }
            facts.platform = .token(index)
        } else if !circumstances.defaults.platform.isEmpty {
            facts.platform = .json(circumstances.defaults.platform)
        } else if facts.mayOmitAppFields {
            facts.platform = .json(contract.serverPlatform)
        } else {
            throw Rejection(code: .invalidPlatform, field: "platform")
        }
    }

    private func findSchemaVersion(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ circumstances: Circumstances,
        _ contract: Contract,
        _ facts: inout EventFacts
    ) throws(Rejection) {
        facts.schemaVersion = circumstances.defaults.schemaVersion
        if index != 0 {
            guard let version = document.integer(document[index]), document.isUnsigned(index) else {
                throw Rejection(code: .invalidSchemaVersion, field: "schema_version")
            }
            facts.schemaVersion = version
        }
        if facts.schemaVersion < 0 { throw Rejection(code: .invalidSchemaVersion, field: "schema_version") }
        guard contract.schemaVersions.contains(facts.schemaVersion) else {
            guard contract.definition.onUnknown == .quarantine else {
                throw Rejection(code: .unsupportedSchemaVersion, field: "schema_version")
            }
            facts.quarantine = facts.quarantine ?? .unsupportedSchemaVersion
            return
        }
    }

    private func judgeClock(_ circumstances: Circumstances, _ facts: inout EventFacts) throws(Rejection) {
        facts.timestamp = facts.occurredAt
        let verdict = circumstances.clock.judge(
            occurredAt: facts.occurredAt,
            receivedAt: circumstances.receivedAt,
            clientSentAt: facts.clientSentAt
        )
        switch verdict {
        case .keep: break
        case .clamp(let timestamp):
            facts.timestamp = timestamp
            facts.isTimestampCorrected = true
        case .quarantine(let code): facts.quarantine = facts.quarantine ?? code
        case .reject(let code): throw Rejection(code: code, field: "occurred_at")
        }
    }

    // MARK: - Texts

    func isEventID(_ document: borrowing JSONDocument, _ index: Int) -> Bool {
        guard index != 0, document[index].kind == .string else { return false }
        let text = document.text(document[index])
        guard !text.isEmpty, text.count <= 100 else { return false }
        var bad: UInt8 = 0
        for byte in text { bad |= badInEventID[Int(byte)] }
        return bad == 0
    }

    /// Whether a value is a string of 1 to `limit` characters without control characters.
    func isText(_ document: borrowing JSONDocument, _ index: Int, limit: Int) -> Bool {
        let token = document[index]
        guard token.kind == .string else { return false }
        let text = document.text(token)
        guard !text.isEmpty, text.hasAtMost(scalars: limit) else { return false }
        // The parser takes control characters only as escapes.
        return !token.hasEscapes || !text.contains { $0 < 0x20 }
    }

    private func checkIdentifier(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ code: EventCode,
        _ field: StaticString,
        mayOmit: Bool
    ) throws(Rejection) {
        if index == 0 && mayOmit { return }
        guard index != 0, isText(document, index, limit: 100) else { throw Rejection(code: code, field: field) }
        if document.text(document[index]).has(UInt8(ascii: "@")) {
            throw Rejection(code: .identifierNotOpaque, field: field)
        }
    }

    private func checkVersion(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ code: EventCode,
        _ field: StaticString,
        mayOmit: Bool
    ) throws(Rejection) {
        if index == 0 && mayOmit { return }
        guard index != 0, isText(document, index, limit: 50) else { throw Rejection(code: code, field: field) }
    }

    // MARK: - What the answer tells

    private func keepID(_ document: borrowing JSONDocument, _ index: Int, _ verdict: inout BatchVerdict) -> TextSpan {
        isEventID(document, index) ? verdict.keep(document.text(document[index])) : TextSpan()
    }

    private func keepRemoved(
        _ document: borrowing JSONDocument,
        _ event: inout EventVerdict,
        _ verdict: inout BatchVerdict
    ) {
        event.firstRemoved = UInt32(verdict.removedNames.count)
        for key in removedFields { verdict.remove(document.text(document[Int(key)])) }
        for key in removedExperiments { verdict.remove(document.text(document[Int(key)]), after: "experiments.") }
        for key in removedProperties { verdict.remove(document.text(document[Int(key)])) }
        event.removedCount = UInt32(verdict.removedNames.count) - event.firstRemoved
    }
}

extension BatchVerdict {
    fileprivate mutating func remove(_ name: UnsafeRawBufferPointer, after prefix: StaticString = "") {
        removedNames.append(keep(name: name, after: prefix))
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

extension EventJudge {
    /// Who a record says the user is.
    enum UserFacts {
        case nobody
        /// The one who is vouched for.
        case vouched
        /// A token whose text a server states.
        case stated(Int)
        /// A token whose text only the client states.
        case claimed(Int)
    }

    /// Decides what a `user_id` is worth.
    func judgeUser(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ admission: borrowing Admission,
        _ verdict: inout BatchVerdict
    ) -> UserFacts {
        guard index != 0 else { return admission.user != nil && admission.assignsUser ? .vouched : .nobody }
        if let user = admission.user {
            let isSame = user.id.withUnsafeBytes { $0.isEqual(to: document.text(document[index])) }
            if isSame { return .vouched }
            if !admission.isServer { verdict.userMismatches += 1 }
        }
        if admission.isServer { return .stated(index) }
        verdict.unprovenUsers += 1
        return admission.unprovenUser == .claimed ? .claimed(index) : .nobody
    }

    /// Appends the record line of an event that was validated.
    func write(
        _ document: borrowing JSONDocument,
        _ index: Int,
        _ tokens: EnvelopeTokens,
        _ facts: EventFacts,
        _ user: UserFacts,
        _ contract: Contract,
        _ records: inout ByteBuffer
    ) {
        records.append(upTo: room(document, index, contract)) { target in
            var writer = RecordWriter(target.baseAddress.unsafelyUnwrapped)
            writer.padded(frame.head)
            writer.padded(collection(facts, contract) ?? frame.collection)
            writeTimes(facts, frame.receivedAt, contract, with: &writer)
            writer.padded(frame.environment)
            writeQuarantine(facts, with: &writer)
            writer.literal(",\"trusted\":{")
            let hasUser = writeUser(document, user, with: &writer)
            if hasUser && !frame.clientMember.isEmpty { writer.byte(UInt8(ascii: ",")) }
            writer.padded(frame.clientMember)
            writer.byte(UInt8(ascii: "}"))
            writeEnvelope(document, tokens, facts, contract, with: &writer)
            return writer.count
        }
    }

    /// Room for any record of the event: what is written is no longer than its source and the texts around it.
    func room(_ document: borrowing JSONDocument, _ index: Int, _ contract: Contract) -> Int {
        Int(document[index].length) + frame.count + contract.maximumRecordText + 1024 + RecordWriter.slack
    }

    func collection(_ facts: EventFacts, _ contract: Contract) -> UnsafeRawBufferPointer? {
        guard facts.rule >= 0, !contract.eventRules[facts.rule].collection.isEmpty else { return nil }
        return contract.eventRules[facts.rule].collection
    }

    /// Appends the record's times and the contract's name.
    func writeTimes(
        _ facts: EventFacts,
        _ receivedAt: Int,
        _ contract: Contract,
        with writer: inout RecordWriter
    ) {
        writer.literal(",\"timestamp\":")
        writer.decimal(facts.timestamp)
        if facts.isTimestampCorrected { writer.literal(",\"timestamp_corrected\":true") }
        if let sentAt = facts.clientSentAt {
            writer.literal(",\"client_sent_at\":")
            writer.decimal(sentAt)
        }
        if facts.rule >= 0, contract.eventRules[facts.rule].expiresAfter > 0 {
            writer.literal(",\"expires_at\":")
            writer.decimal(receivedAt + contract.eventRules[facts.rule].expiresAfter)
        }
        writer.padded(contract.recordMember)
    }

    func writeQuarantine(_ facts: EventFacts, with writer: inout RecordWriter) {
        guard let code = facts.quarantine else { return }
        writer.literal(",\"quarantine\":{\"reason\":\"")
        writer.literal(code.text)
        writer.literal("\",\"detail\":\"")
        switch code {
        case .unsupportedEvent: writer.literal("event")
        case .unsupportedSchemaVersion: writer.literal("schema_version")
        default: writer.literal("occurred_at")
        }
        writer.literal("\"}")
    }

    private func writeUser(
        _ document: borrowing JSONDocument,
        _ user: UserFacts,
        with writer: inout RecordWriter
    ) -> Bool {
        switch user {
        case .nobody: return false
        case .vouched: writer.padded(frame.user)
        case .stated(let index):
            writer.literal("\"user_id\":")
            writer.string(document, document[index])
        case .claimed(let index):
            writer.literal("\"claimed_user_id\":")
            writer.string(document, document[index])
        }
        return true
    }

    /// Appends the canonical envelope and the end of the line.
    func writeEnvelope(
        _ document: borrowing JSONDocument,
        _ tokens: EnvelopeTokens,
        _ facts: EventFacts,
        _ contract: Contract,
        with writer: inout RecordWriter
    ) {
        writer.literal(",\"envelope\":{\"event\":")
        if facts.rule >= 0 {
            writer.padded(contract.eventRules[facts.rule].name)
        } else {
            writer.string(document, document[tokens[.event]])
        }
        writer.literal(",\"event_id\":")
        writer.string(document, document[tokens[.eventID]])
        writer.literal(",\"occurred_at\":")
        writer.padded(document.raw(document[tokens[.occurredAt]]))
        writer.field(",\"client_sent_at\":", document, tokens[.clientSentAt])
        writer.field(",\"sequence\":", document, tokens[.sequence])
        writer.field(",\"anonymous_id\":", document, tokens[.anonymousID])
        writer.field(",\"session_id\":", document, tokens[.sessionID])
        writer.field(",\"app_version\":", document, tokens[.appVersion])
        writer.field(",\"build_number\":", document, tokens[.buildNumber])
        writer.literal(",\"platform\":")
        switch facts.platform {
        case .token(let index): writer.string(document, document[index])
        case .json(let text): writer.padded(text)
        }
        writer.literal(",\"schema_version\":")
        writer.decimal(facts.schemaVersion)
        writeExperiments(document, contract, with: &writer)
        writer.literal(",\"properties\":{")
        writeProperties(document, facts, contract, with: &writer)
        writer.literal("}}}\n")
    }

    private func writeExperiments(
        _ document: borrowing JSONDocument,
        _ contract: Contract,
        with writer: inout RecordWriter
    ) {
        guard keptExperiments.count > 0 else { return }
        writer.literal(",\"experiments\":")
        var separator = UInt8(ascii: "{")
        for index in 0..<keptExperiments.count {
            let member = keptExperiments[index]
            writer.byte(separator)
            separator = UInt8(ascii: ",")
            writer.padded(contract.experimentKeys[Int(member.number)])
            writer.string(document, document[Int(member.value)])
        }
        writer.byte(UInt8(ascii: "}"))
    }

    private func writeProperties(
        _ document: borrowing JSONDocument,
        _ facts: EventFacts,
        _ contract: Contract,
        with writer: inout RecordWriter
    ) {
        for index in 0..<kept.count {
            let member = kept[index]
            if index > 0 { writer.byte(UInt8(ascii: ",")) }
            if member.number >= 0 {
                writer.padded(contract.eventRules[facts.rule].properties[Int(member.number)].key)
            } else {
                writer.string(document, document[Int(member.key)])
                writer.byte(UInt8(ascii: ":"))
            }
            let token = document[Int(member.value)]
            if member.isNumericString {
                writer.padded(document.text(token))
            } else {
                writer.value(document, token)
            }
        }
    }
}

extension RecordWriter {
    /// Appends a field of the envelope if it is there.
    @inline(__always)
    fileprivate mutating func field(_ key: StaticString, _ document: borrowing JSONDocument, _ index: Int) {
        guard index != 0 else { return }
        literal(key)
        value(document, document[index])
    }
}

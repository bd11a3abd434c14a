// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
package import SluiceSystem

/// What judging a spooled record again came to.
package enum Rejudgement: Hashable, Sendable {
    /// A new record line was written; members of these names were left out, as the contract wants it.
    case replayed(removed: [String])
    /// It would be refused or set aside again; nothing was written. The detail names a field or a property.
    case stays(EventCode, detail: String)
}

extension EventJudge {
    /// Judges a quarantined record again under a contract, which may have changed since, and writes its new line.
    ///
    /// Kept as they were: `received_at`, the trusted part, the environment, who stated the event, and the collection
    /// unless the contract now chooses one for the event. `timestamp` and its correction stay too, except for a record
    /// that was set aside at admission: its time is judged now, against its own `received_at`.
    ///
    /// - Parameters:
    ///   - record: a record that a parser other than this judge's holds.
    ///   - origin: where the record was quarantined, for a record that has no older origin of its own; nil leaves out
    ///     `origin` and `replays`, which the caller then writes.
    ///   - contract: the rules of now.
    ///   - clock: for a record that was set aside at admission.
    ///   - acceptsClock: takes `occurred_at` as it is, whatever the clock policy says.
    ///   - records: gets one line when the record is replayed, with `replays` one higher.
    /// - Returns: whether a line was written, and why not.
    package mutating func rejudge(
        _ record: SpooledRecord,
        from origin: SpooledRecord.Origin?,
        by contract: Contract,
        clock: ClockPolicy = ClockPolicy(),
        acceptsClock: Bool = false,
        records: inout ByteBuffer
    ) -> Rejudgement {
        marks.makeRoom(for: contract.maximumPropertyCount)
        let document = record.document
        let keepsTime = record.isTimestampCorrected || !record.isQuarantined
        var tokens = EnvelopeTokens()
        var facts = EventFacts()
        do throws(Rejection) {
            try collect(document, record.envelope, &tokens)
            let circumstances = Circumstances(
                receivedAt: record.receivedAt,
                clock: keepsTime || acceptsClock ? .off : clock,
                batchClientSentAt: record.clientSentAt,
                isServer: record.isFromServer,
                defaults: ClientDefaults(platform: UnsafeRawBufferPointer(start: nil, count: 0), schemaVersion: -1),
                platform: tokens[.platform] == 0
                    ? UnsafeRawBufferPointer(start: nil, count: 0)
                    : quoted(document, tokens[.platform])
            )
            try validate(document, tokens, circumstances, contract, &facts)
        } catch {
            let detail = error.name.map { String(decoding: $0, as: UTF8.self) } ?? "\(error.field)"
            return .stays(error.code, detail: detail)
        }
        if let code = facts.quarantine {
            let isTime = code == .occurredAtTooOld || code == .occurredAtInFuture
            return .stays(code, detail: isTime ? "occurred_at" : code == .unsupportedEvent ? "event" : "schema_version")
        }
        if keepsTime {
            facts.timestamp = record.timestamp
            facts.isTimestampCorrected = record.isTimestampCorrected
        }
        write(record, tokens, facts, origin.map { record.origin ?? $0 }, contract, &records)
        var removed = removedFields.map { document.string(document[Int($0)]) }
        removed += removedExperiments.map { "experiments.\(document.string(document[Int($0)]))" }
        removed += removedProperties.map { document.string(document[Int($0)]) }
        return .replayed(removed: removed)
    }

    private func write(
        _ record: SpooledRecord,
        _ tokens: EnvelopeTokens,
        _ facts: EventFacts,
        _ origin: SpooledRecord.Origin?,
        _ contract: Contract,
        _ records: inout ByteBuffer
    ) {
        let document = record.document
        records.append("{")
        if let origin {
            records.append("\"origin\":{\"segment\":")
            records.append(jsonString: origin.segment)
        }
        let limit = Int(document[record.root].length) + contract.maximumRecordText + 1024 + RecordWriter.slack
        records.append(upTo: limit) { target in
            var writer = RecordWriter(target.baseAddress.unsafelyUnwrapped)
            if let origin {
                writer.literal(",\"frame\":")
                writer.decimal(origin.frame)
                writer.literal(",\"index\":")
                writer.decimal(origin.index)
                writer.literal("},\"replays\":")
                writer.decimal(record.replays + 1)
                writer.literal(",")
            }
            writer.literal("\"received_at\":")
            writer.decimal(record.receivedAt)
            writer.literal(",\"collection\":")
            if let collection = collection(facts, contract) {
                writer.padded(collection)
            } else {
                writer.string(document, document[record.collection])
            }
            writeTimes(facts, record.receivedAt, contract, with: &writer)
            if let environment = record.environment {
                writer.literal(",\"environment\":")
                writer.string(document, document[environment])
            }
            if record.isFromServer { writer.literal(",\"source\":\"server\"") }
            writer.literal(",\"trusted\":")
            writer.padded(document.raw(document[record.trusted]))
            writeEnvelope(document, tokens, facts, contract, with: &writer)
            return writer.count
        }
    }

    /// A string token's source with its quotes; empty when it is no string.
    private func quoted(_ document: borrowing JSONDocument, _ index: Int) -> UnsafeRawBufferPointer {
        guard document[index].kind == .string else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let raw = document.raw(document[index])
        return UnsafeRawBufferPointer(start: raw.baseAddress.unsafelyUnwrapped - 1, count: raw.count + 2)
    }
}

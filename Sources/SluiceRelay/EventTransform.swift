// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceEvents
internal import SluiceJSON
package import SluiceSystem

/// Why a spooled record cannot become an event.
package enum TransformError: Error, Equatable {
    /// A value in that part of the record is an object or an array, or a property is null.
    case nested(String)
    /// Two members of the event would have the same name.
    case collision
}

/// Turns spooled records into flat GraphJSON events, written as the inside of a JSON string.
///
/// The order is: envelope, trusted fields, what the server noted, experiments, properties. The same record gives the
/// same bytes every time, also on replay.
package struct EventTransform {
    /// Above 1, the width in seconds to which request timestamps are rounded down, which the event then says.
    package var timestampPrecision: Int

    package init(timestampPrecision: Int) { self.timestampPrecision = timestampPrecision }

    /// Appends the event of a record to `output`.
    ///
    /// - Throws: what makes it impossible; `output` is then as it was.
    package func append(_ record: borrowing SpooledRecord, to output: inout ByteBuffer) throws(TransformError) {
        let source = record.document.source.count
        var failure: TransformError?
        // Escaping at most doubles the source; names and punctuation of our own fit in the rest.
        output.append(upTo: source * 2 + 1024) { room in
            var writer = EscapedWriter(room)
            do throws(TransformError) {
                try write(record, with: &writer)
                return writer.count
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
    }

    private func write(_ record: borrowing SpooledRecord, with writer: inout EscapedWriter) throws(TransformError) {
        let document = record.document
        writer.literal("{")
        var experiments = -1
        var properties = -1
        var hasSentAt = false
        for member in document.members(of: record.envelope) {
            let key = document.raw(document[member.key])
            if key.count == 10 && key.matches("properties") {
                properties = member.value
                continue
            }
            if key.count == 11 && key.matches("experiments") {
                experiments = member.value
                continue
            }
            // Who the user is comes from the trusted part alone; here it can only say that nobody is signed in.
            if key.count == 7 && key.matches("user_id") && document[member.value].kind != .null { continue }
            if key.count == 14 && key.matches("client_sent_at") { hasSentAt = true }
            guard !document[member.value].isContainer else { throw .nested("envelope") }
            writer.member(document, document[member.key], document[member.value])
        }
        for member in document.members(of: record.trusted) {
            guard !document[member.value].isContainer else { throw .nested("trusted") }
            writer.member(document, document[member.key], document[member.value])
        }
        if let environment = record.environment { writer.member("environment", document, document[environment]) }
        writer.member("received_at", record.receivedAt)
        if let sentAt = record.clientSentAt, !hasSentAt { writer.member("client_sent_at", sentAt) }
        if record.isTimestampCorrected {
            writer.key("timestamp_corrected")
            writer.literal("true")
        }
        if timestampPrecision > 1 { writer.member("timestamp_rounded_s", timestampPrecision) }
        if let version = record.contractVersion { writer.member("contract_version", document, document[version]) }
        if experiments >= 0 {
            for member in document.members(of: experiments) {
                guard !document[member.value].isContainer else { throw .nested("experiments") }
                writer.experiment(document, document[member.key], document[member.value])
            }
        }
        if properties >= 0 { try self.properties(document, properties, with: &writer) }
        writer.literal("}")
    }

    private func properties(
        _ document: JSONDocument,
        _ object: Int,
        with writer: inout EscapedWriter
    ) throws(TransformError) {
        for member in document.members(of: object) {
            guard !document[member.value].isContainer, document[member.value].kind != .null else {
                throw .nested("properties")
            }
            let key = document.text(document[member.key])
            if ReservedNames.contains(key) { throw .collision }
            for other in document.members(of: object) {
                if other.key == member.key { break }
                if document.text(document[other.key]).isEqual(to: key) { throw .collision }
            }
            writer.member(document, document[member.key], document[member.value])
        }
    }
}

/// The names that an event's own fields have, which no property may take.
private enum ReservedNames {
    // The arena lives as long as the process and nothing writes to it after it is made.
    nonisolated(unsafe) private static let arena = Arena()
    nonisolated(unsafe) private static let index = NameIndex(ContractDefinition.reservedNames.sorted(), in: arena)
    private static let prefix: StaticString = "experiment_"

    static func contains(_ name: UnsafeRawBufferPointer) -> Bool {
        if name.count > 11 && UnsafeRawBufferPointer(rebasing: name[..<11]).matches(prefix) { return true }
        return index.number(of: name) != nil
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are exactly those of `text`.
    @inline(__always)
    func matches(_ text: StaticString) -> Bool {
        guard let baseAddress, count == text.utf8CodeUnitCount else { return false }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }

    @inline(__always)
    func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let baseAddress, let start = other.baseAddress else { return true }
        return memcmp(baseAddress, start, count) == 0
    }
}

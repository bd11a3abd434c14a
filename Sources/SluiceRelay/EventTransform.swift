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
    /// More experiments than any contract takes.
    case tooManyExperiments
}

/// Turns spooled records into flat GraphJSON events, written as the inside of a JSON string.
///
/// The order is: envelope, trusted fields, what the server noted, experiments, properties. The same record gives the
/// same bytes every time, also on replay. No two members of an event have one name, whoever wrote the record.
package struct EventTransform {
    /// Four times as many as an endpoint lets through.
    private static let maximumExperiments = 64
    /// Room for the names and numbers that are the event's own, and for the prefix of its experiments.
    private static let ownBytes = 1024 + maximumExperiments * 16

    /// Above 1, the width in seconds to which request timestamps are rounded down, which the event then says.
    package var timestampPrecision: Int

    package init(timestampPrecision: Int) { self.timestampPrecision = timestampPrecision }

    /// Appends the event of a record to `output`.
    ///
    /// - Throws: what makes it impossible; `output` is then as it was.
    package func append(_ record: borrowing SpooledRecord, to output: inout ByteBuffer) throws(TransformError) {
        let source = record.document.source.count
        var failure: TransformError?
        // Escaping at most doubles the source; what is the event's own fits in the rest.
        output.append(upTo: source * 2 + Self.ownBytes) { room in
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
        var names = EventNames()
        writer.literal("{")
        var experiments = -1
        var properties = -1
        for member in document.members(of: record.envelope) {
            let name = names.number(of: document.text(document[member.key]))
            if name == EventNames.properties {
                try names.take(name)
                properties = member.value
                continue
            }
            if name == EventNames.experiments {
                try names.take(name)
                experiments = member.value
                continue
            }
            // Who the user is comes from the trusted part alone; here it can only say that nobody is signed in.
            if name == EventNames.userID, document[member.value].kind != .null || record.userID != nil { continue }
            guard !document[member.value].isContainer else { throw .nested("envelope") }
            try names.take(name, document, member.key)
            writer.member(document, document[member.key], document[member.value])
        }
        for member in document.members(of: record.trusted) {
            guard !document[member.value].isContainer else { throw .nested("trusted") }
            try names.take(names.number(of: document.text(document[member.key])), document, member.key)
            writer.member(document, document[member.key], document[member.value])
        }
        if let environment = record.environment {
            try names.take(EventNames.environment)
            writer.member("environment", document, document[environment])
        }
        try names.take(EventNames.receivedAt)
        writer.member("received_at", record.receivedAt)
        if let sentAt = record.clientSentAt, !names.has(EventNames.clientSentAt) {
            try names.take(EventNames.clientSentAt)
            writer.member("client_sent_at", sentAt)
        }
        if record.isTimestampCorrected {
            try names.take(EventNames.timestampCorrected)
            writer.key("timestamp_corrected")
            writer.literal("true")
        }
        if timestampPrecision > 1 {
            try names.take(EventNames.timestampRounded)
            writer.member("timestamp_rounded_s", timestampPrecision)
        }
        if let version = record.contractVersion {
            guard !document[version].isContainer else { throw .nested("contract") }
            try names.take(EventNames.contractVersion)
            writer.member("contract_version", document, document[version])
        }
        if experiments >= 0 { try self.experiments(document, experiments, with: &writer) }
        if properties >= 0 { try self.properties(document, properties, names, with: &writer) }
        writer.literal("}")
    }

    private func experiments(
        _ document: JSONDocument,
        _ object: Int,
        with writer: inout EscapedWriter
    ) throws(TransformError) {
        var count = 0
        for member in document.members(of: object) {
            guard !document[member.value].isContainer else { throw .nested("experiments") }
            count += 1
            if count > Self.maximumExperiments { throw .tooManyExperiments }
            writer.experiment(document, document[member.key], document[member.value])
        }
        if document.hasTwins(in: object) { throw .collision }
    }

    private func properties(
        _ document: JSONDocument,
        _ object: Int,
        _ names: borrowing EventNames,
        with writer: inout EscapedWriter
    ) throws(TransformError) {
        for member in document.members(of: object) {
            guard !document[member.value].isContainer, document[member.value].kind != .null else {
                throw .nested("properties")
            }
            guard names.leaves(document.text(document[member.key]), in: document) else { throw .collision }
            writer.member(document, document[member.key], document[member.value])
        }
        if document.hasTwins(in: object) { throw .collision }
    }
}

/// The names that an event has so far.
private struct EventNames {
    // The arena lives as long as the process and nothing writes to it after it is made.
    nonisolated(unsafe) private static let arena = Arena()
    nonisolated(unsafe) private static let index = NameIndex(reserved, in: arena)
    /// What an event's own fields are called, which no property may take.
    private static let reserved = ContractDefinition.reservedNames.sorted()
    private static let prefix: StaticString = "experiment_"

    static let clientSentAt = number("client_sent_at")
    static let contractVersion = number("contract_version")
    static let environment = number("environment")
    static let experiments = number("experiments")
    static let properties = number("properties")
    static let receivedAt = number("received_at")
    static let timestampCorrected = number("timestamp_corrected")
    static let timestampRounded = number("timestamp_rounded_s")
    static let userID = number("user_id")

    private static func number(_ name: String) -> Int {
        guard let number = reserved.firstIndex(of: name) else { preconditionFailure("\(name) is not reserved") }
        return number
    }

    /// A bit for each reserved name.
    private var taken: UInt64 = 0
    /// Keys that are none of them, as a later version or a foreign file may have them; hardly ever any.
    private var others: [Int] = []

    /// The number of a reserved name; -1 for any other.
    func number(of name: UnsafeRawBufferPointer) -> Int { Self.index.number(of: name) ?? -1 }

    func has(_ number: Int) -> Bool { taken & 1 << UInt64(number) != 0 }

    mutating func take(_ number: Int) throws(TransformError) {
        if has(number) { throw .collision }
        taken |= 1 << UInt64(number)
    }

    /// Takes the name at token `key`, whose number is known.
    mutating func take(_ number: Int, _ document: JSONDocument, _ key: Int) throws(TransformError) {
        if number >= 0 { return try take(number) }
        let name = document.text(document[key])
        guard leaves(name, in: document), others.count < 64 else { throw .collision }
        others.append(key)
    }

    /// Whether a property, or a field that nobody knows, may have a name.
    func leaves(_ name: UnsafeRawBufferPointer, in document: JSONDocument) -> Bool {
        if name.count > 11 && UnsafeRawBufferPointer(rebasing: name[..<11]).matches(Self.prefix) { return false }
        if Self.index.number(of: name) != nil { return false }
        return others.isEmpty || !others.contains { document.text(document[$0]).isEqual(to: name) }
    }
}

extension JSONDocument {
    /// Whether two members of an object have one name.
    fileprivate func hasTwins(in object: Int) -> Bool {
        var count = 0
        for _ in members(of: object) { count += 1 }
        if count <= 64 {
            for member in members(of: object) {
                let name = text(self[member.key])
                for other in members(of: object) {
                    if other.key == member.key { break }
                    if text(self[other.key]).isEqual(to: name) { return true }
                }
            }
            return false
        }
        var names = members(of: object).map { text(self[$0.key]) }
        names.sort { $0.lexicographicallyPrecedes($1) }
        return zip(names, names.dropFirst()).contains { $0.isEqual(to: $1) }
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

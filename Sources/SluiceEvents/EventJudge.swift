// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
package import SluiceSystem

/// Judges bodies, lines and spooled records by a contract, and writes what is accepted as canonical record lines.
///
/// One per thread; it reuses its memory, and an event that is accepted with nothing removed allocates nothing. A record
/// is built from validated fields in a fixed order, properties and experiments by name, so the same event gives the same
/// bytes however its client ordered them. Decisions that the public contract leaves open:
///
/// - Lengths count Unicode scalars. U+0000 is refused wherever it would be kept, other control characters only in ids,
///   versions and variants; names compare as bytes, so a name with a NUL behind it is another name.
/// - Numbers are whole only as written: `1796000000.0` and `1.796e9` are no seconds. Numbers that are kept keep their
///   text: `1.0` stays `1.0`, `1E5` stays `1E5`, 2^53 + 1 and 2^64 - 1 stay exact. Larger whole numbers, and what a
///   double cannot hold, are refused with their event.
/// - null counts as absence for optional fields; missing `properties` count as empty ones. A property that is null, an
///   object or a list is of the wrong type where it is listed, and like any other name where it is not.
/// - An empty batch is accepted and leaves nothing behind. Unknown members beside `events` are ignored and counted.
/// - Two events of one batch with one id are both taken; the relay drops only an exact repetition.
/// - `user_id` goes into the record's trusted part when it is proven, or as `claimed_user_id`; never into the envelope.
package struct EventJudge: ~Copyable {
    package let limits: EventLimits
    let parser: JSONParser
    let fields: NameIndex
    /// By byte: 0 when it may stand in an event id, else 1.
    let badInEventID: UnsafeBufferPointer<UInt8>
    private let arena: Arena
    /// Texts that are the same for all records of a batch.
    var frame = RecordFrame()
    // Scratch space of the event at hand.
    var kept: MemberList
    var keptExperiments = MemberList(capacity: EventJudge.maximumExperiments)
    var marks = PropertyMarks()
    /// Keys of members that are left out.
    var removedFields: [Int32] = []
    var removedExperiments: [Int32] = []
    var removedProperties: [Int32] = []
    private let identitySeed: UInt64

    static let maximumExperiments = 16

    /// Makes a judge.
    ///
    /// - Parameters:
    ///   - limits: what a batch and an event may take.
    ///   - identitySeed: what `EventVerdict.identity` is seeded with, so that nobody can foresee it.
    package init(limits: EventLimits = EventLimits(), identitySeed: UInt64 = 0) {
        self.limits = limits
        self.identitySeed = identitySeed
        parser = JSONParser(maximumBytes: limits.maximumBodyBytes)
        arena = Arena()
        fields = NameIndex(EnvelopeField.allCases.map { "\($0.text)" }, in: arena)
        let good = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:".utf8
        badInEventID = arena.array((UInt8.min...UInt8.max).map { good.contains($0) ? 0 : 1 })
        kept = MemberList(capacity: limits.maximumProperties)
    }

    /// Judges a body `{"events":[…]}`.
    ///
    /// - Parameters:
    ///   - body: followed by `ByteBuffer.padding` readable bytes.
    ///   - admission: under what circumstances it came in.
    ///   - contract: the rules.
    ///   - records: gets one line for each event that is accepted or quarantined.
    ///   - verdict: its former content is forgotten.
    /// - Throws: when the body as a whole is refused; then `records` is as it was.
    package mutating func judge(
        _ body: UnsafeRawBufferPointer,
        under admission: borrowing Admission,
        by contract: Contract,
        records: inout ByteBuffer,
        verdict: inout BatchVerdict
    ) throws(BatchRefusal) {
        verdict.removeAll()
        if body.count > limits.maximumBodyBytes { throw BatchRefusal(.bodyTooLarge, "the body is too long") }
        prepare(admission, contract)
        let document: JSONDocument
        do throws(JSONError) {
            document = try parser.parse(body)
        } catch {
            guard error.concernsOneValue else { throw BatchRefusal(error) }
            return try judgeApart(body, admission, contract, &records, &verdict)
        }
        try judge(document, admission, contract, &records, &verdict)
    }

    /// Judges one line of an import: a body, or one envelope.
    ///
    /// - Returns: why the line was refused as a whole, or nil. A line that is no JSON is refused so.
    package mutating func judge(
        line: UnsafeRawBufferPointer,
        under admission: borrowing Admission,
        by contract: Contract,
        records: inout ByteBuffer,
        verdict: inout BatchVerdict
    ) -> BatchRefusal? {
        verdict.removeAll()
        prepare(admission, contract)
        do throws(BatchRefusal) {
            if line.count > limits.maximumBodyBytes { throw BatchRefusal(.bodyTooLarge, "the line is too long") }
            let document: JSONDocument
            do throws(JSONError) {
                document = try parser.parse(line)
            } catch {
                guard error.concernsOneValue else { throw BatchRefusal(error) }
                let parts = JSONIsolation(of: "events", in: line, maximumElements: 0)
                if parts.elements.isEmpty { throw BatchRefusal(error) }
                try judgeApart(line, admission, contract, &records, &verdict)
                return nil
            }
            if document.value(of: "events", in: 0) != nil {
                try judge(document, admission, contract, &records, &verdict)
            } else {
                judgeEvent(document, 0, nil, admission, contract, &records, &verdict)
            }
            return nil
        } catch {
            return error
        }
    }

    /// Whether `text` is one JSON document, apart from values in it that cannot be kept.
    package func isDocument(_ text: UnsafeRawBufferPointer) -> Bool {
        do throws(JSONError) {
            _ = try parser.parse(text)
            return true
        } catch {
            return error.concernsOneValue
        }
    }

    /// Names whoever an `anonymous_id` stands for, without keeping it.
    @inline(__always)
    func identity(_ document: borrowing JSONDocument, _ index: Int) -> UInt64 {
        index == 0 ? 0 : IdentityHash.value(of: document.text(document[index]), seed: identitySeed)
    }

    private mutating func judge(
        _ document: JSONDocument,
        _ admission: borrowing Admission,
        _ contract: Contract,
        _ records: inout ByteBuffer,
        _ verdict: inout BatchVerdict
    ) throws(BatchRefusal) {
        let outline = try BatchOutline(document, limits, &verdict)
        for element in document.elements(of: outline.events) {
            judgeEvent(document, element, outline.clientSentAt, admission, contract, &records, &verdict)
        }
    }

    /// Judges the elements one by one, because the parser refused the body for a value in one of them.
    private mutating func judgeApart(
        _ body: UnsafeRawBufferPointer,
        _ admission: borrowing Admission,
        _ contract: Contract,
        _ records: inout ByteBuffer,
        _ verdict: inout BatchVerdict
    ) throws(BatchRefusal) {
        let parts = JSONIsolation(of: "events", in: body, maximumElements: limits.maximumEvents)
        let document: JSONDocument
        do throws(JSONError) {
            document = try parser.parse(parts.outline.bytes)
        } catch {
            throw BatchRefusal(error)
        }
        let clientSentAt = try BatchOutline(document, limits, &verdict).clientSentAt
        let start = records.count
        for range in parts.elements {
            let element = UnsafeRawBufferPointer(rebasing: body[range])
            do throws(JSONError) {
                let document = try parser.parse(element)
                judgeEvent(document, 0, clientSentAt, admission, contract, &records, &verdict)
            } catch {
                guard error.concernsOneValue else {
                    records.truncate(to: start)
                    verdict.removeAll()
                    throw BatchRefusal(error, from: range.lowerBound)
                }
                verdict.addUnparsed(error, from: range.lowerBound)
            }
        }
    }
}

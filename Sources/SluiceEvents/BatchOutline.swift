// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// A body without its events: where they stand, and what stands beside them.
struct BatchOutline {
    /// Token of the list of events.
    private(set) var events = 0
    private(set) var clientSentAt: Int?

    /// Checks a parsed body; what only counts goes into `verdict`.
    init(
        _ document: borrowing JSONDocument,
        _ limits: EventLimits,
        _ verdict: inout BatchVerdict
    ) throws(BatchRefusal) {
        guard document[0].kind == .object else { throw BatchRefusal(.invalidBatch, "the body is not an object") }
        var sentAt = 0
        var drops = 0
        for member in document.members(of: 0) {
            let key = document.text(document[member.key])
            if key.isEqual(to: "events") {
                try Self.take(member.value, &events, "events")
            } else if key.isEqual(to: "client_sent_at") {
                try Self.take(member.value, &sentAt, "client_sent_at")
            } else if key.isEqual(to: "drops") {
                try Self.take(member.value, &drops, "drops")
            } else if key.isEqual(to: "api_key") || key.isEqual(to: "collection") || key.isEqual(to: "token") {
                throw BatchRefusal(.forbiddenField, String(decoding: key, as: UTF8.self))
            } else {
                verdict.unknownBatchFields += 1
            }
        }
        guard events != 0, document[events].kind == .array else {
            throw BatchRefusal(.invalidBatch, events == 0 ? "events is missing" : "events is not a list")
        }
        if sentAt != 0, document[sentAt].kind != .null {
            guard let seconds = document.seconds(sentAt) else {
                throw BatchRefusal(.invalidClientSentAt, "client_sent_at")
            }
            clientSentAt = seconds
        }
        var count = 0
        for _ in document.elements(of: events) { count += 1 }
        if count > limits.maximumEvents {
            throw BatchRefusal(.tooManyEvents, "a batch has at most \(limits.maximumEvents) events")
        }
        if drops != 0 { Self.readDrops(document, drops, &verdict) }
    }

    private static func take(_ value: Int, _ place: inout Int, _ name: String) throws(BatchRefusal) {
        if place != 0 { throw BatchRefusal(.duplicateKey, name) }
        place = value
    }

    /// Counts the client's drops; what is no count is passed over, because no event depends on it.
    private static func readDrops(_ document: borrowing JSONDocument, _ drops: Int, _ verdict: inout BatchVerdict) {
        for member in document.members(of: drops) {
            guard let count = document.integer(document[member.value]), (0...1_000_000_000).contains(count) else {
                continue
            }
            verdict.clientDrops.add(count, reason: document.text(document[member.key]))
        }
    }
}

extension JSONDocument {
    /// A whole number of Unix seconds from 1970 to the year 5138, or nil.
    @inline(__always)
    func seconds(_ index: Int) -> Int? {
        guard let seconds = integer(self[index]), isUnsigned(index), seconds < 100_000_000_000 else { return nil }
        return seconds
    }

    /// Whether a whole number is written without a sign, so that its text is its only spelling.
    @inline(__always)
    func isUnsigned(_ index: Int) -> Bool { raw(self[index]).first != UInt8(ascii: "-") }
}

extension BatchRefusal {
    /// - Parameters:
    ///   - error: what the parser says.
    ///   - start: where in the body the text begins that the error's offset counts from.
    init(_ error: JSONError, from start: Int = 0) {
        switch error.code {
        case .tooLarge: self.init(.bodyTooLarge, "the body is too long")
        case .outOfMemory: self.init(.outOfMemory, "no memory to parse the body")
        default: self.init(.invalidJSON, error.code.rawValue, byteOffset: error.byteOffset.map { $0 + start })
        }
    }
}

extension BatchVerdict {
    /// Adds an event whose own text cannot be parsed.
    mutating func addUnparsed(_ error: JSONError, from start: Int) {
        var event = EventVerdict()
        event.code = .invalidJSON
        let offset = error.byteOffset.map { " at byte \($0 + start)" } ?? ""
        let textStart = text.count
        text.append(error.code.rawValue + offset)
        event.detail = TextSpan(start: UInt32(textStart), count: UInt32(text.count - textStart))
        add(event)
    }
}

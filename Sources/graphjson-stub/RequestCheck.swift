// SPDX-License-Identifier: Apache-2.0
import SluiceJSON
import SluiceSoak
import SluiceSystem

/// Why a request is refused.
struct Refusal: Error {
    var status: Int
    var reason: String
    var retryAfterSeconds: Int?

    init(_ status: Int, _ reason: String, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        retryAfterSeconds = retryAfter
    }
}

/// Checks one request at a time, strictly, and keeps what it found; reuses its memory.
final class RequestCheck {
    static let maximumEvents = 50

    private let outer = JSONParser(maximumBytes: 1 << 30)
    private let inner = JSONParser(maximumBytes: 1 << 30)
    /// All events as one JSON array, so that one parse checks them together.
    private var joined = ByteBuffer()
    private var extents: [Range<Int>] = []
    private var timestamps: [Int] = []
    private var collection = ByteBuffer()
    /// Whether arrivals are judged instead of counted by their event_id.
    private let judge: SoakJudge?
    /// One for each event that has an event_id, unless arrivals are judged.
    private(set) var eventIDs: [EventIDHash] = []
    /// One for each event, if they are judged.
    private(set) var arrivals: [SoakArrival] = []

    var eventCount: Int { extents.count }

    /// Makes a check; with a plan it judges events against it.
    init(_ plan: SoakPlan?) { judge = plan.map { SoakJudge($0) } }

    /// Checks a body.
    ///
    /// - Parameters:
    ///   - bytes: followed by `ByteBuffer.padding` readable bytes.
    ///   - isBulk: whether `jsons` or `json` is expected.
    ///   - key: the only key that is accepted; nil accepts any but an empty one.
    /// - Throws: the first fault.
    func check(_ bytes: UnsafeRawBufferPointer, isBulk: Bool, key: String?) throws(Refusal) {
        forget()
        let document: JSONDocument
        do throws(JSONError) {
            document = try outer.parse(bytes)
        } catch {
            throw Refusal(400, "the body is not JSON: \(error)")
        }
        guard document[0].kind == .object else { throw Refusal(400, "the body is not an object") }
        try checkKey(document, key)
        guard let collection = string(document, "collection"), collection.length > 0 else {
            throw Refusal(400, "collection must be a string that is not empty")
        }
        self.collection.append(document.raw(collection))
        try joinEvents(document, isBulk)
        try readTimestamps(document, isBulk)
        try checkEvents()
    }

    private func forget() {
        joined.removeAll()
        collection.removeAll()
        extents.removeAll(keepingCapacity: true)
        timestamps.removeAll(keepingCapacity: true)
        eventIDs.removeAll(keepingCapacity: true)
        arrivals.removeAll(keepingCapacity: true)
    }

    private func string(_ document: JSONDocument, _ name: StaticString) -> JSONToken? {
        document.value(of: name, in: 0).map { document[$0] }.flatMap { $0.kind == .string ? $0 : nil }
    }

    private func checkKey(_ document: JSONDocument, _ key: String?) throws(Refusal) {
        guard let token = string(document, "api_key"), token.length > 0 else {
            throw Refusal(401, "api_key must be a string that is not empty")
        }
        if let key, !document.text(token).elementsEqual(key.utf8) { throw Refusal(401, "api_key is not known") }
    }

    private func joinEvents(_ document: JSONDocument, _ isBulk: Bool) throws(Refusal) {
        joined.append("[")
        if isBulk {
            guard let jsons = document.value(of: "jsons", in: 0), document[jsons].kind == .array else {
                throw Refusal(400, "jsons must be an array")
            }
            for element in document.elements(of: jsons) { try join(document, document[element]) }
        } else {
            guard let json = document.value(of: "json", in: 0) else { throw Refusal(400, "json must be a string") }
            try join(document, document[json])
        }
        joined.append("]")
        if extents.isEmpty { throw Refusal(400, "jsons must hold at least one event") }
    }

    private func join(_ document: JSONDocument, _ token: JSONToken) throws(Refusal) {
        guard token.kind == .string else { throw Refusal(400, "event \(extents.count) is not a string") }
        if !extents.isEmpty { joined.append(",") }
        let start = joined.count
        joined.append(document.text(token))
        extents.append(start..<joined.count)
    }

    private func readTimestamps(_ document: JSONDocument, _ isBulk: Bool) throws(Refusal) {
        let shared = document.value(of: "timestamp", in: 0)
        if isBulk, shared == nil, let list = document.value(of: "timestamps", in: 0) {
            guard document[list].kind == .array else { throw Refusal(400, "timestamps must be an array") }
            for element in document.elements(of: list) { timestamps.append(try integer(document, element)) }
            guard timestamps.count == extents.count else { throw Refusal(400, "timestamps and jsons differ in length") }
            return
        }
        guard let shared else { throw Refusal(400, "timestamp is missing") }
        timestamps.append(try integer(document, shared))
    }

    private func integer(_ document: JSONDocument, _ index: Int) throws(Refusal) -> Int {
        guard let value = document.integer(document[index]) else { throw Refusal(400, "a timestamp is not an integer") }
        return value
    }

    private func checkEvents() throws(Refusal) {
        let events: JSONDocument
        do throws(JSONError) {
            events = try inner.parse(joined.bytes)
        } catch {
            throw Refusal(400, "event \(eventIndex(at: error.byteOffset ?? 0)) is not JSON")
        }
        var index = 0
        for element in events.elements(of: 0) {
            let token = events[element]
            let place = Int(token.start)..<Int(token.start + token.length)
            // Each value must come from its own string, not from pieces of several.
            guard index < extents.count, token.kind == .object, extents[index].contains(place) else {
                throw Refusal(400, "event \(min(index, extents.count - 1)) is not one JSON object")
            }
            if let judge {
                let timestamp = timestamps.count == 1 ? timestamps[0] : timestamps[index]
                arrivals.append(judge.judge(events, at: element, timestamp: timestamp))
            } else if let id = events.value(of: "event_id", in: element), events[id].kind == .string {
                eventIDs.append(EventIDHash(events.text(events[id])))
            }
            index += 1
        }
        guard index == extents.count else { throw Refusal(400, "event \(index) is not one JSON object") }
    }

    private func eventIndex(at offset: Int) -> Int {
        extents.lastIndex { $0.lowerBound <= offset } ?? 0
    }

    /// Appends a line for each event to `lines`.
    func writeLines(request: Int, to lines: inout ByteBuffer) {
        for (index, extent) in extents.enumerated() {
            lines.append("{\"collection\":\"")
            lines.append(collection.bytes)
            lines.append("\",\"timestamp\":")
            lines.append(decimal: timestamps.count == 1 ? timestamps[0] : timestamps[index])
            lines.append(",\"json\":")
            let start = lines.count
            lines.append(UnsafeRawBufferPointer(rebasing: joined.bytes[extent]))
            lines.replaceLineEnds(from: start)
            lines.append(",\"request\":")
            lines.append(decimal: request)
            lines.append("}\n")
        }
    }
}

extension ByteBuffer {
    /// Line ends can only stand between the values of JSON, where a space is as good.
    fileprivate mutating func replaceLineEnds(from start: Int) {
        for index in start..<count where bytes[index] == 0x0a || bytes[index] == 0x0d {
            withUnsafeBytes(of: UInt8(0x20)) { replace(at: index, with: $0) }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// A GraphJSON of the test's own on loopback: takes events, or answers what the test says.
package final class Upstream: Sendable {
    package struct Request: Sendable {
        /// The event_id of each event.
        package var ids: [String]
        /// The events as they arrived.
        package var events: [String]
        package var timestamp: Int
        package var collection: String
        package var apiKey: String
        /// Monotonic nanoseconds.
        package var arrivedAt: Int64
    }

    private struct State {
        var requests: [Request] = []
        var taken: [Request] = []
    }

    private let state = Lock(State())
    private let answer: @Sendable (Request, Int) -> ScriptedServer.Step?

    /// - Parameter answer: is given a request and its number; nil takes the events.
    package init(_ answer: @escaping @Sendable (Request, Int) -> ScriptedServer.Step? = { _, _ in nil }) {
        self.answer = answer
    }

    /// All requests, refused ones included.
    package var requests: [Request] { state.withLock { $0.requests } }
    /// The event_ids that were taken, repeats included.
    package var taken: [String] { state.withLock { $0.taken.flatMap(\.ids) } }
    package var takenEvents: [String] { state.withLock { $0.taken.flatMap(\.events) } }
    package var takenRequests: [Request] { state.withLock { $0.taken } }

    package func server() -> ScriptedServer {
        ScriptedServer { _ in .decide { self.decide($0) } }
    }

    private func decide(_ received: ReceivedRequest) -> ScriptedServer.Step {
        guard let request = Self.parse(received.body) else { return .status(400, body: "not a logging request") }
        let number = state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
        if let step = answer(request, number) { return step }
        state.withLock { $0.taken.append(request) }
        return .status(200, body: "{}")
    }

    private static func parse(_ body: [UInt8]) -> Request? {
        let parser = JSONParser(maximumBytes: 4 << 20)
        let inner = JSONParser(maximumBytes: 4 << 20)
        var buffer = ByteBuffer(capacity: body.count)
        buffer.append(body)
        guard let document = try? parser.parse(buffer.bytes),
            let events = document.value(of: "jsons", in: 0),
            let timestamp = document.value(of: "timestamp", in: 0).flatMap({ document.integer(document[$0]) }),
            let collection = document.value(of: "collection", in: 0)
        else { return nil }
        var request = Request(
            ids: [],
            events: [],
            timestamp: timestamp,
            collection: document.string(document[collection]),
            apiKey: document.value(of: "api_key", in: 0).map { document.string(document[$0]) } ?? "",
            arrivedAt: SystemClock.system.monotonicNanoseconds()
        )
        for element in document.elements(of: events) {
            let text = document.string(document[element])
            var event = ByteBuffer(capacity: text.utf8.count)
            event.append(text)
            guard let parsed = try? inner.parse(event.bytes), let id = parsed.value(of: "event_id", in: 0) else {
                return nil
            }
            request.ids.append(parsed.string(parsed[id]))
            request.events.append(text)
        }
        return request
    }
}

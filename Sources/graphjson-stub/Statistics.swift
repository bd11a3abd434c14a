// SPDX-License-Identifier: Apache-2.0
import SluiceServer
import SluiceSystem
import Synchronization

/// What came so far, for `GET /stats`.
final class Statistics: Sendable {
    private let requests = Atomic<Int>(0)
    private let events = Atomic<Int>(0)
    private let rejectedRequests = Atomic<Int>(0)
    private let resets = Atomic<Int>(0)
    private let maximumEvents = Atomic<Int>(0)
    let eventIDs = EventIDSet()

    /// Counts a request.
    ///
    /// - Returns: its number, from 1.
    func countRequest() -> Int { requests.add(1, ordering: .relaxed).newValue }

    /// Counts a request that was taken and whose connection is reset.
    func countReset() { resets.add(1, ordering: .relaxed) }

    func countRejected() { rejectedRequests.add(1, ordering: .relaxed) }

    /// Counts a request that was refused before its body was read.
    func countRefused() {
        _ = countRequest()
        countRejected()
    }

    /// Counts the events of a request, whether it will be accepted or not.
    func sawEvents(_ count: Int) { maximumEvents.max(count, ordering: .relaxed) }

    func countAccepted(_ count: Int) { events.add(count, ordering: .relaxed) }

    var answer: ServerAnswer {
        var body = ByteBuffer()
        let numbers: [(StaticString, Int)] = [
            ("{\"requests\":", requests.load(ordering: .relaxed)),
            (",\"events\":", events.load(ordering: .relaxed)),
            (",\"distinct_event_ids\":", eventIDs.count),
            (",\"rejected_requests\":", rejectedRequests.load(ordering: .relaxed)),
            (",\"resets\":", resets.load(ordering: .relaxed)),
            (",\"max_events_per_request\":", maximumEvents.load(ordering: .relaxed)),
        ]
        for (name, number) in numbers {
            body.append(name)
            body.append(decimal: number)
        }
        if eventIDs.isFull { body.append(",\"distinct_event_ids_is_lower_bound\":true") }
        body.append("}\n")
        return ServerAnswer(status: 200, contentType: "application/json", bytes: body.bytes)
    }
}

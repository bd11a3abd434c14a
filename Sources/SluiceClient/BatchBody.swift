// SPDX-License-Identifier: Apache-2.0

/// The body of one request, and how many events go into it.
package enum BatchBody {
    /// `{"client_sent_at":…,"drops":{…},"events":[…]}`, the stored bytes of the events unchanged.
    ///
    /// - Parameters:
    ///   - events: envelopes as they were stored.
    ///   - drops: counts by reason; left out when there are none.
    ///   - clientSentAt: Unix seconds of this attempt.
    /// - Returns: the body.
    package static func encode(events: [[UInt8]], drops: [String: Int], clientSentAt: Int) -> [UInt8] {
        var body = JSONObject()
        body.add("client_sent_at", clientSentAt)
        if !drops.isEmpty {
            var counts = JSONObject()
            let inOrder = drops.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (reason, count) in inOrder { counts.add(reason, count) }
            body.add("drops", counts)
        }
        body.add("events", json: events)
        return body.bytes
    }

    /// Cuts a queue into batches.
    ///
    /// - Parameters:
    ///   - sizes: bytes of the events, in order.
    ///   - maximumEvents: the most events of a batch.
    ///   - maximumBytes: the most bytes of a batch's events with the commas between them; one event may exceed it alone.
    /// - Returns: how many events each batch has.
    package static func cut(sizes: [Int], maximumEvents: Int, maximumBytes: Int) -> [Int] {
        var counts: [Int] = []
        var meter = BatchMeter(maximumEvents: maximumEvents, maximumBytes: maximumBytes)
        for size in sizes where !meter.take(size) {
            counts.append(meter.count)
            meter = BatchMeter(maximumEvents: maximumEvents, maximumBytes: maximumBytes)
            _ = meter.take(size)
        }
        if meter.count > 0 { counts.append(meter.count) }
        return counts
    }
}

/// How full a batch is.
package struct BatchMeter: Sendable {
    package let maximumEvents: Int
    package let maximumBytes: Int
    package private(set) var count = 0
    private var bytes = 0

    package init(maximumEvents: Int, maximumBytes: Int) {
        self.maximumEvents = maximumEvents
        self.maximumBytes = maximumBytes
    }

    /// Takes an event if it has room; the first one always has.
    package mutating func take(_ size: Int) -> Bool {
        let total = bytes + size + (count == 0 ? 0 : 1)
        guard count == 0 || (count < maximumEvents && total <= maximumBytes) else { return false }
        count += 1
        bytes = total
        return true
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceServer
internal import SluiceTelemetry

/// What a verdict adds to the metrics once it is answered.
struct VerdictTally: Sendable {
    private struct Entry {
        var counter: Counter
        var count: Int
    }

    private var entries: ContiguousArray<Entry> = []

    mutating func add(_ counter: Counter, _ count: Int = 1) {
        if count > 0 { entries.append(Entry(counter: counter, count: count)) }
    }

    func commit() {
        for entry in entries { entry.counter.increment(by: entry.count) }
    }
}

/// A request whose events wait for the disk: its answer is ready and is not given before they are durable.
final class PendingRequest: Sendable {
    let ticket: ServerTicket
    let answer: ServerAnswer
    let requestID: String
    let tally: VerdictTally

    init(ticket: ServerTicket, answer: ServerAnswer, requestID: String, tally: VerdictTally) {
        self.ticket = ticket
        self.answer = answer
        self.requestID = requestID
        self.tally = tally
    }

    /// A word for the writer that stands for this request and keeps it alive.
    var token: UInt { UInt(bitPattern: Unmanaged.passRetained(self).toOpaque()) }

    /// Takes back what `token` gave away; once for each.
    static func take(_ token: UInt) -> PendingRequest? {
        UnsafeRawPointer(bitPattern: token).map { Unmanaged<PendingRequest>.fromOpaque($0).takeRetainedValue() }
    }
}

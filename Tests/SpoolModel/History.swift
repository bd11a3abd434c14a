// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool

/// What a driver notes between two calls.
package enum Mark: Hashable, Sendable {
    /// What the driver does next; for reports.
    case action(String)
    /// These records were answered with success.
    case acknowledged([Int])
    case relayBegan(relay: Int, maximumInFlight: Int, hasWindow: Bool)
    /// A request is read; where it `isTaken`, its events have arrived, whatever becomes of the answer.
    case arrived(relay: Int, serials: [Int], isTaken: Bool, isAnswered: Bool, at: Int64)
    /// It ended in good order; where `leftNothing`, every segment is finished.
    case relayEnded(relay: Int, leftNothing: Bool)
    /// It ended, and what it wrote down may not be synced.
    case relayDied(relay: Int)
    /// The worker wrote down that these are delivered.
    case noted(relay: Int)
    /// From here on these may leave the spool undelivered: expired, discarded or erased.
    case mayVanish([Int])
    /// Records of these events may leave the spool undelivered from here on.
    case mayBeErased([Int])
    /// They must not arrive any more.
    case erased([Int])
    /// Bytes were changed by nobody.
    case damaged(Damage)
    /// The books did not balance when they were read.
    case unbalanced([String])
    /// Something that must not happen did.
    case fault(String)

    package struct Damage: Hashable, Sendable {
        package var path: String
        package var what: String
        /// Records that stood there.
        package var serials: [Int] = []
        /// What was noted of deliveries is gone in part.
        package var forgetsDeliveries = false
        /// The books may say so.
        package var changesBooks = false
    }
}

/// What has happened to the records so far, and what may still happen: the model.
package struct History: Sendable {
    private let records: ModelRecords
    package private(set) var acknowledged: Set<Int> = []
    package private(set) var mayVanish: Set<Int> = []
    private var mayBeErased: Set<Int> = []
    private var erased: Set<Int> = []
    /// Records whose bytes were damaged.
    package private(set) var damaged: Set<Int> = []
    package private(set) var booksMayBeWrong = false
    /// How often each event arrived.
    package private(set) var arrivals: [Int: Int] = [:]
    /// Events that may arrive once more.
    private var mayRepeat: Set<Int> = []
    /// The duplicate window may have forgotten something: equal events of different records may both arrive.
    private var windowMayForget = false
    /// Events that no duplicate window knows of.
    private var blindly: Set<Int> = []
    /// Damage took away what was noted.
    private var anythingMayRepeat = false
    private var relays: [Int: Relay] = [:]
    /// Deliveries that a loss of power may undo, by the relay that made them.
    private var unsettled: [Unsettled] = []
    private var names: Set<String> = []
    package private(set) var faults: [String] = []

    private struct Relay {
        var maximumInFlight: Int
        var hasWindow: Bool
        /// Events of each request, and when it arrived.
        var requests: [(events: [Int], at: Int64)] = []
        var noted = 0

        mutating func note(upTo count: Int) { noted = max(noted, min(count, requests.count)) }
    }

    private struct Unsettled {
        var event: Int
        var relay: Int
        var request: Int
    }

    package init(_ records: ModelRecords) { self.records = records }

    package mutating func fail(_ text: String) { if faults.count < 20 { faults.append(text) } }

    // MARK: Files

    /// Looks at a call for names that are used a second time.
    package mutating func take(_ operation: FileOperation) {
        guard case .open(_, let path, true, _) = operation, let file = path.split(separator: "/").last else { return }
        let prefix = SegmentName.newPrefix
        guard file.hasPrefix(prefix) else { return }
        let name = String(file.dropFirst(prefix.count))
        guard SegmentName(sealedFileName: name) != nil || SegmentName(openFileName: name) != nil else { return }
        let text = String(name.prefix { $0 != "." })
        if !names.insert(text).inserted { fail("the segment name \(text) was used a second time") }
    }

    // MARK: Marks

    package mutating func take(_ mark: Mark) {
        switch mark {
        case .action: break
        case .acknowledged(let serials): acknowledged.formUnion(serials)
        case .relayBegan(let relay, let maximumInFlight, let hasWindow):
            relays[relay] = Relay(maximumInFlight: maximumInFlight, hasWindow: hasWindow)
        case .arrived(let relay, let serials, let isTaken, let isAnswered, let at):
            arrive(relay, serials, isTaken: isTaken, isAnswered: isAnswered, at: at)
        case .relayEnded(let relay, let leftNothing):
            relays[relay] = nil
            unsettled.removeAll { $0.relay == relay || leftNothing }
        case .relayDied(let relay):
            if let known = relays.removeValue(forKey: relay) {
                for request in known.requests[known.noted...] { mayRepeat.formUnion(request.events) }
            }
        case .noted(let relay): relays[relay]?.note(upTo: .max)
        case .mayVanish(let serials): mayVanish.formUnion(serials)
        case .mayBeErased(let events): mayBeErased.formUnion(events)
        case .erased(let events): erased.formUnion(events)
        case .damaged(let damage):
            damaged.formUnion(damage.serials)
            if damage.forgetsDeliveries { anythingMayRepeat = true }
            if damage.changesBooks { booksMayBeWrong = true }
        case .unbalanced(let problems): if !booksMayBeWrong { fail("the books do not balance: \(problems)") }
        case .fault(let text): fail(text)
        }
    }

    private mutating func arrive(_ number: Int, _ serials: [Int], isTaken: Bool, isAnswered: Bool, at: Int64) {
        guard var relay = relays[number] else {
            // Given up by its relay while it was on its way.
            let events = serials.compactMap { records[$0]?.event }
            if isTaken { for event in events { arrivals[event, default: 0] += 1 } }
            return mayRepeat.formUnion(events)
        }
        var events: [Int] = []
        for serial in serials {
            guard let record = records[serial] else {
                fail("an event of no record arrived, serial \(serial)")
                continue
            }
            events.append(record.event)
            if isTaken { arrive(record, of: number, relay) }
            if isTaken && !isAnswered { mayRepeat.insert(record.event) }
        }
        relay.requests.append((isTaken ? events : [], at))
        relay.note(upTo: relay.requests.count - relay.maximumInFlight)
        relays[number] = relay
        settle(number, relay)
    }

    private mutating func arrive(_ record: ModelRecord, of number: Int, _ relay: Relay) {
        if erased.contains(record.event) { fail("record \(record.serial) arrived after its person was erased") }
        let count = arrivals[record.event, default: 0]
        arrivals[record.event] = count + 1
        unsettled.append(Unsettled(event: record.event, relay: number, request: relay.requests.count))
        let isBlind = windowMayForget || !relay.hasWindow || blindly.contains(record.event)
        if !relay.hasWindow { blindly.insert(record.event) }
        guard count > 0 && !anythingMayRepeat else { return }
        if mayRepeat.remove(record.event) != nil { return }
        if isBlind && records.hasTwins(record.event) { return }
        fail("event \(record.event) (record \(record.serial)) arrived once more than allowed")
    }

    /// A relay syncs its progress once a second: what it wrote down before an earlier sync is sure.
    private mutating func settle(_ number: Int, _ relay: Relay) {
        let distance = relay.maximumInFlight
        let last = relay.requests.count - 1 - distance
        unsettled.removeAll { item in
            guard item.relay == number else { return false }
            let first = min(item.request, .max - distance) + distance
            return first < last && relay.requests[last].at - relay.requests[first].at > 1_100_000_000
        }
    }

    // MARK: Crashes

    /// All processes end at once; what they wrote stays.
    package mutating func kill() {
        for relay in relays.values {
            for request in relay.requests[relay.noted...] { mayRepeat.formUnion(request.events) }
        }
        relays.removeAll()
    }

    package mutating func losePower() {
        kill()
        mayRepeat.formUnion(unsettled.map(\.event))
        unsettled.removeAll()
        windowMayForget = true
    }

    // MARK: Verdicts

    /// Differs where what may still happen differs, as far as it can be told by numbers.
    var fingerprint: UInt64 {
        let sums = [acknowledged, mayVanish, damaged, mayRepeat, blindly].map { set in
            set.reduce(set.count) { $0 &+ ($1 &* 0x9E37_79B1 ^ $1) }
        }
        return UInt64(bitPattern: Int64((sums + [arrivals.values.reduce(0, +)]).reduce(7) { $0 &* 1_000_003 &+ $1 }))
    }

    /// Whether a record may be neither delivered nor in the spool.
    func mayBeGone(_ serial: Int) -> Bool {
        guard let record = records[serial] else { return false }
        return mayVanish.contains(serial) || damaged.contains(serial) || mayBeErased.contains(record.event)
            || record.kind == .expired
    }

    func hasArrived(_ serial: Int) -> Bool {
        guard let record = records[serial] else { return false }
        return arrivals[record.event] != nil
    }
}

extension ModelRecords {
    func hasTwins(_ event: Int) -> Bool {
        for serial in event + 1..<max(count, event + 1) where self[serial]?.event == event { return true }
        return false
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceServer
import SluiceSoak
import SluiceSystem
import Synchronization

/// The stub's part of a soak: does wrong what the record's head asks for, and notes there what arrived.
final class Recorder: Sendable {
    private let record: SoakRecord
    /// The record takes one request at a time.
    private let lock = Lock(())
    private let luck = Luck()

    init(path: String) throws(SystemError) { record = try SoakRecord(opening: path) }

    var plan: SoakPlan { record.plan }

    /// Refuses a request before its events are looked at.
    func failAsAsked(bodyBytes: Int) throws(Refusal) {
        let fault = record.fault
        switch fault.kind {
        case .unavailable where luck.hits(thousandths: fault.amount): try refuse(503, .answered503)
        case .failure where luck.hits(thousandths: fault.amount): try refuse(500, .answered500)
        case .tooMany: try refuse(429, .answered429, retryAfter: Int(fault.amount))
        case .unauthorized: try refuse(401, .answered401)
        case .tooLarge where bodyBytes > Int(fault.amount): try refuse(413, .answered413)
        default: break
        }
    }

    /// Refuses a request for one of its events.
    func refuseBadEvents(_ arrivals: [SoakArrival]) throws(Refusal) {
        for arrival in arrivals {
            guard let number = arrival.number else { continue }
            switch plan.kind(of: number) {
            case .poison: try refuse(400, .answered400)
            case .failing where !record.isLenient: try refuse(500, .answered500)
            default: break
            }
        }
    }

    private func refuse(_ status: Int, _ count: SoakRecord.Count, retryAfter: Int? = nil) throws(Refusal) {
        record.count(count)
        throw Refusal(status, "failed as the soak asks", retryAfter: retryAfter)
    }

    /// Notes the events of a request that will be answered as taken.
    func note(_ arrivals: [SoakArrival]) { lock.withLock { _ in record.note(arrivals) } }

    /// Whether a request's connection is reset before anything of it is taken.
    func resetsUntaken() -> Bool { breaks(.reset, .reset) }

    /// Whether the answer of a request that was taken is cut off.
    func cutsAnswer() -> Bool { breaks(.cut, .cut) }

    private func breaks(_ kind: UpstreamFault.Kind, _ count: SoakRecord.Count) -> Bool {
        let fault = record.fault
        guard fault.kind == kind, luck.hits(thousandths: fault.amount) else { return false }
        record.count(count)
        return true
    }

    /// How long an answer is held back.
    var delayMilliseconds: Int {
        let fault = record.fault
        guard fault.kind == .slow else { return 0 }
        record.count(.slow)
        return Int(luck.draw() % UInt64(max(1, fault.amount)))
    }
}

/// Chance for several threads.
final class Luck: Sendable {
    private let state = Atomic<UInt64>(.random(in: .min ... .max))

    /// 64 bits, SplitMix64: each step of the counter gives a number that looks drawn.
    func draw() -> UInt64 {
        var value = state.wrappingAdd(0x9e37_79b9_7f4a_7c15, ordering: .relaxed).newValue
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }

    /// Whether an event of that probability happens now.
    func hits(_ rate: Double) -> Bool { rate > 0 && Double(draw() >> 11) * 0x1p-53 < rate }

    func hits(thousandths: UInt32) -> Bool { hits(Double(thousandths) / 1000) }
}

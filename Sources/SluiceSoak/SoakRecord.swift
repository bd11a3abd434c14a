// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// What arrived at the destination, in a file that outlives it.
///
/// A byte for each event counts its deliveries, four for each session hold its highest sequence. The plan stands at the
/// head, and what the destination shall do wrong.
///
/// One process writes arrivals, under a lock of its own; others may read and set the fault at any time.
package final class SoakRecord: Sendable {
    /// Numbers that the destination keeps.
    package enum Count: Int, CaseIterable, Sendable {
        /// Events that arrived, each delivery counted.
        case arrivals
        /// First deliveries that came after a later event of their session.
        case reordered
        case altered
        /// Answers and non-answers by the fault behind them.
        case answered400, answered401, answered413, answered429, answered500, answered503, cut, reset, slow
    }

    private static let magic: UInt64 = 0x736F_616B_0000_0001
    private static let faultOffset = 128
    private static let lenienceOffset = 136
    private static let countsOffset = 256
    private static let examplesOffset = 1024
    private static let maximumExamples = 32
    private static let headBytes = 4096

    package let plan: SoakPlan
    private let file: MappedFile
    private let sessionsOffset: Int
    private let deliveriesOffset: Int

    package init(creating path: String, plan: SoakPlan) throws(SystemError) {
        self.plan = plan
        (sessionsOffset, deliveriesOffset) = Self.layout(plan)
        file = try MappedFile(creating: path, count: deliveriesOffset + plan.capacity)
        for (index, word) in Self.words(of: plan).enumerated() { file.setWord(word, at: 8 + index * 8) }
        file.setWord(Self.magic, at: 0)
    }

    /// - Throws: EINVAL when the file is no such record.
    package init(opening path: String) throws(SystemError) {
        file = try MappedFile(opening: path)
        guard file.bytes.count >= Self.headBytes, file.word(at: 0) == Self.magic else {
            throw SystemError(call: "open", path: path, errno: 22)
        }
        plan = Self.plan(in: file)
        (sessionsOffset, deliveriesOffset) = Self.layout(plan)
        guard file.bytes.count == deliveriesOffset + plan.capacity else {
            throw SystemError(call: "open", path: path, errno: 22)
        }
    }

    private static func layout(_ plan: SoakPlan) -> (sessions: Int, deliveries: Int) {
        (headBytes, (headBytes + plan.sessions * 4 + 7) & ~7)
    }

    private static func words(of plan: SoakPlan) -> [UInt64] {
        [plan.seed]
            + [
                plan.clients, plan.batch, plan.roundsPerSession, plan.eventsPerSecond, plan.startSeconds,
                plan.rareEvery,
                plan.capacity,
            ].map { UInt64($0) }
    }

    private static func plan(in file: MappedFile) -> SoakPlan {
        func number(_ index: Int) -> Int { max(1, Int(clamping: file.word(at: 8 + index * 8))) }
        var plan = SoakPlan(
            seed: file.word(at: 8),
            clients: number(1),
            batch: number(2),
            eventsPerSecond: number(4),
            startSeconds: number(5),
            events: 0
        )
        plan.roundsPerSession = number(3)
        plan.rareEvery = number(6)
        plan.capacity = number(7)
        return plan
    }

    // MARK: Faults

    /// What the destination shall do wrong from now on.
    package var fault: UpstreamFault {
        get { UpstreamFault(word: file.word(at: Self.faultOffset)) }
        set { file.setWord(newValue.word, at: Self.faultOffset) }
    }

    /// Whether the destination takes the events on which it fails otherwise, so that an end can be reached: nobody gives
    /// up a record that fails while no other succeeds.
    package var isLenient: Bool {
        get { file.word(at: Self.lenienceOffset) != 0 }
        set { file.setWord(newValue ? 1 : 0, at: Self.lenienceOffset) }
    }

    package func count(_ count: Count, by amount: Int = 1) {
        file.add(UInt64(amount), at: Self.countsOffset + count.rawValue * 8)
    }

    package subscript(count: Count) -> Int { Int(file.word(at: Self.countsOffset + count.rawValue * 8)) }

    // MARK: Arrivals

    /// Notes the events of one request; not from two threads at once.
    package func note(_ arrivals: [SoakArrival]) {
        count(.arrivals, by: arrivals.count)
        for arrival in arrivals {
            if let fault = arrival.fault { noteFault(arrival, fault) }
            guard let number = arrival.number else { continue }
            let place = deliveriesOffset + number
            let before = file.bytes[place]
            if before < .max { file.bytes[place] = before + 1 }
            if before == 0 { noteOrder(number) }
        }
    }

    private func noteOrder(_ number: Int) {
        let offset = sessionsOffset + plan.session(of: number) * 4
        let next = UInt32(plan.sequence(of: number)) + 1
        if next < file.bytes.load(fromByteOffset: offset, as: UInt32.self) {
            count(.reordered)
        } else {
            file.bytes.storeBytes(of: next, toByteOffset: offset, as: UInt32.self)
        }
    }

    private func noteFault(_ arrival: SoakArrival, _ fault: SoakFault) {
        let index = self[.altered]
        count(.altered)
        guard index < Self.maximumExamples else { return }
        let number = arrival.number.map { UInt64($0) } ?? 0
        file.setWord(number << 8 | fault.rawValue, at: Self.examplesOffset + index * 8)
    }

    /// How often an event has been delivered, up to 255.
    package func deliveries(of number: Int) -> Int { Int(file.bytes[deliveriesOffset + number]) }

    /// The first events that did not arrive as they were posted.
    package var examples: [SoakArrival] {
        (0..<min(self[.altered], Self.maximumExamples)).compactMap { index in
            let word = file.word(at: Self.examplesOffset + index * 8)
            guard let fault = SoakFault(rawValue: word & 0xFF) else { return nil }
            return SoakArrival(number: fault == .foreign ? nil : Int(word >> 8), fault: fault)
        }
    }
}

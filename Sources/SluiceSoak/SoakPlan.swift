// SPDX-License-Identifier: Apache-2.0

/// Which events a soak posts.
///
/// Everything about an event follows from the plan and the event's number, so that any program that knows the plan can
/// tell whether an event arrived as it was meant.
///
/// Client after client takes `batch` numbers in a row, round after round; some rounds of a client are a session.
package struct SoakPlan: Hashable, Sendable {
    package var seed: UInt64
    package var clients: Int
    /// Events of a request.
    package var batch: Int
    package var roundsPerSession: Int
    /// The rate at which `occurred_at` grows with the numbers.
    package var eventsPerSecond: Int
    /// `occurred_at` of event 0, Unix seconds.
    package var startSeconds: Int
    /// One event in so many is one that the destination refuses, and another one that it always fails on.
    package var rareEvery: Int
    /// Numbers are below this; whole rounds of all clients.
    package var capacity: Int

    /// Makes a plan with room for at least `events`.
    package init(
        seed: UInt64,
        clients: Int,
        batch: Int,
        eventsPerSecond: Int,
        startSeconds: Int,
        events: Int
    ) {
        self.seed = seed
        self.clients = clients
        self.batch = batch
        self.eventsPerSecond = eventsPerSecond
        self.startSeconds = startSeconds
        roundsPerSession = 50
        rareEvery = max(2000, eventsPerSecond * 5)
        let round = clients * batch
        // Clients that are never held up get ahead of the others.
        capacity = (events * 2 / round + 16) * round
    }

    package var rounds: Int { capacity / (clients * batch) }
    package var batches: Int { capacity / batch }
    package var sessions: Int { (rounds / roundsPerSession + 1) * clients }

    package func firstNumber(client: Int, round: Int) -> Int { (round * clients + client) * batch }

    package func session(of number: Int) -> Int {
        let (round, client) = (number / batch).quotientAndRemainder(dividingBy: clients)
        return round / roundsPerSession * clients + client
    }

    package func sequence(of number: Int) -> Int {
        let (index, place) = number.quotientAndRemainder(dividingBy: batch)
        return index / clients % roundsPerSession * batch + place
    }

    package func occurredAt(_ number: Int) -> Int { startSeconds + number / eventsPerSecond }

    /// 64 bits that look drawn and follow from the number, SplitMix64.
    package func bits(of number: Int) -> UInt64 {
        var value = seed &+ UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// What an event is there for.
package enum SoakKind: Sendable {
    case ordinary
    /// One that the destination answers 400 to.
    case poison
    /// One that the destination answers 500 to.
    case failing
    /// Some thousand bytes long.
    case large
    /// One that may expire undelivered.
    case lowDurability
}

extension SoakPlan {
    package func kind(of number: Int) -> SoakKind {
        let bits = bits(of: number)
        switch bits % UInt64(rareEvery) {
        case 0: return .poison
        case 1: return .failing
        default: break
        }
        if bits >> 20 % 2000 == 0 { return .large }
        return bits >> 40 % 50 == 0 ? .lowDurability : .ordinary
    }
}

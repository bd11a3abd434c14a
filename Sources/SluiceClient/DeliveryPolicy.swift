// SPDX-License-Identifier: Apache-2.0

/// Decides what follows from an answer; pure, so that every client can be held to the same decisions.
package struct DeliveryPolicy: Sendable {
    /// Refused credentials and wrong addresses are tried again after so long.
    package static let pauseMilliseconds: Int64 = 3_600_000
    /// How often an event may be refused alone by a request-wide 400 before it goes to quarantine.
    package static let attemptsAlone = 3
    /// From so many failures in a row on, an event that is refused alone holds up all delivery: the fault may be the request's.
    package static let suspiciousFailures = 3

    /// The most events of any batch.
    package var maximumBatchEvents: Int

    package init(maximumBatchEvents: Int) { self.maximumBatchEvents = maximumBatchEvents }

    /// What follows from a verdict.
    ///
    /// - Parameters:
    ///   - verdict: what the answer means; `.failed` also stands for no answer.
    ///   - batch: the events that were sent.
    ///   - hasToken: whether a user's token went with them.
    ///   - state: what delivery remembered before.
    ///   - random: 64 random bits for the backoff.
    /// - Returns: what to do.
    package func outcome(
        of verdict: AnswerVerdict,
        batch: [ClaimedEvent],
        hasToken: Bool,
        state: DeliveryState,
        random: UInt64
    ) -> DeliveryOutcome {
        var outcome = DeliveryOutcome(state: state)
        let delay = Backoff.delay(afterFailures: state.failures, random: random)
        switch verdict {
        case .processed(let accepted, let rejected):
            return processed(accepted, rejected, batch, state, delay)
        case .invalid(let code):
            return batch.count > 1 ? halved(batch, .invalid, state) : alone(batch[0], .invalid, code, state, delay)
        case .tooLarge(let isFinal):
            guard batch.count == 1 else { return halved(batch, .tooLarge, state) }
            guard isFinal else { return alone(batch[0], .tooLarge, "too_large", state, delay) }
            outcome.rejected = [.init(eventID: batch[0].eventID, code: "too_large")]
            return outcome
        case .unauthorized where hasToken:
            outcome.keep(batch, .unauthorized, 0)
            outcome.pause = .init(scope: .user, milliseconds: Self.pauseMilliseconds)
            return outcome
        case .unauthorized: return failed(batch, .unauthorized, state, Self.pauseMilliseconds)
        case .misdirected: return failed(batch, .misdirected, state, Self.pauseMilliseconds)
        case .later(let seconds):
            return failed(batch, .throttled, state, seconds.map { Int64($0) * 1000 } ?? delay)
        case .serverFailed:
            // A single event may be what the server stumbles over: smaller batches leave the others a way.
            outcome = failed(batch, .serverError, state, delay)
            outcome.state.batchLimit = max(1, batch.count / 2)
            return outcome
        case .failed: return failed(batch, .transport, state, delay)
        }
    }

    /// What follows when no token could be had: that user's events wait.
    package func tokenFailed(_ batch: [ClaimedEvent], state: DeliveryState, random: UInt64) -> DeliveryOutcome {
        var outcome = DeliveryOutcome(state: state)
        outcome.keep(batch, .unauthorized, 0)
        let attempts = (batch.map(\.attempts).max() ?? 1) - 1
        let delay = Backoff.delay(afterFailures: attempts, random: random)
        outcome.pause = .init(scope: .user, milliseconds: delay)
        return outcome
    }

    /// What follows when the sending was cancelled: as if it had not been tried.
    package func cancelled(_ batch: [ClaimedEvent], state: DeliveryState) -> DeliveryOutcome {
        var outcome = DeliveryOutcome(state: state)
        outcome.keep(batch, .cancelled, 0)
        outcome.countsAttempt = false
        return outcome
    }

    private func processed(
        _ accepted: [String],
        _ rejected: [AnswerVerdict.Rejection],
        _ batch: [ClaimedEvent],
        _ state: DeliveryState,
        _ delay: Int64
    ) -> DeliveryOutcome {
        var outcome = DeliveryOutcome(state: state)
        outcome.isAcknowledged = true
        let taken = Set(accepted.map { Array($0.utf8) })
        var refused: [Int: String] = [:]
        for rejection in rejected where batch.indices.contains(rejection.index) {
            let id = batch[rejection.index].eventID
            guard rejection.eventID.map({ $0.utf8.elementsEqual(id.utf8) }) ?? true else { continue }
            refused[rejection.index] = rejection.code
        }
        var kept: [ClaimedEvent] = []
        for (index, event) in batch.enumerated() {
            if taken.contains(Array(event.eventID.utf8)) {
                outcome.accepted.append(event.eventID)
            } else if let code = refused[index] {
                outcome.rejected.append(.init(eventID: event.eventID, code: code))
            } else {
                kept.append(event)
            }
        }
        outcome.keep(kept, .unanswered, kept.isEmpty ? 0 : delay)
        if kept.count == batch.count {
            outcome.state.failures += 1
            outcome.pause = .init(scope: .everything, milliseconds: delay)
        } else {
            outcome.state.failures = 0
            outcome.state.batchLimit = min(maximumBatchEvents, max(1, state.batchLimit) * 2)
        }
        return outcome
    }

    private func halved(_ batch: [ClaimedEvent], _ error: ErrorClass, _ state: DeliveryState) -> DeliveryOutcome {
        var outcome = DeliveryOutcome(state: state)
        outcome.keep(batch, error, 0)
        outcome.countsAttempt = false  // the answer says nothing about any one of them
        outcome.state.batchLimit = batch.count / 2
        return outcome
    }

    /// What follows when a request with a single event was refused: others go on meanwhile, unless all are refused.
    private func alone(
        _ event: ClaimedEvent,
        _ error: ErrorClass,
        _ code: String,
        _ state: DeliveryState,
        _ delay: Int64
    ) -> DeliveryOutcome {
        var outcome = DeliveryOutcome(state: state)
        outcome.state.failures += 1
        if event.attempts >= Self.attemptsAlone {
            outcome.rejected = [.init(eventID: event.eventID, code: code)]
        } else {
            outcome.keep([event], error, delay)
        }
        if outcome.state.failures >= Self.suspiciousFailures {
            outcome.pause = .init(scope: .everything, milliseconds: delay)
        }
        return outcome
    }

    private func failed(
        _ batch: [ClaimedEvent],
        _ error: ErrorClass,
        _ state: DeliveryState,
        _ delay: Int64
    ) -> DeliveryOutcome {
        var outcome = DeliveryOutcome(state: state)
        outcome.keep(batch, error, 0)
        outcome.pause = .init(scope: .everything, milliseconds: delay)
        outcome.state.failures += 1
        return outcome
    }
}

extension DeliveryOutcome {
    fileprivate mutating func keep(_ batch: [ClaimedEvent], _ error: ErrorClass, _ milliseconds: Int64) {
        kept = batch.map(\.eventID)
        errorClass = error
        keptMilliseconds = milliseconds
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceClient
import Testing

struct DeliveryPolicyTests {
    private let policy = DeliveryPolicy(maximumBatchEvents: 100)

    private func batch(_ count: Int, attempts: Int = 1) -> [ClaimedEvent] {
        (0..<count).map { ClaimedEvent(eventID: "e\($0)", envelope: [], attempts: attempts) }
    }

    private func outcome(
        _ verdict: AnswerVerdict,
        _ batch: [ClaimedEvent],
        hasToken: Bool = false,
        failures: Int = 0,
        limit: Int = 100
    ) -> DeliveryOutcome {
        policy.outcome(
            of: verdict,
            batch: batch,
            hasToken: hasToken,
            state: DeliveryState(failures: failures, batchLimit: limit),
            random: 1 << 63
        )
    }

    @Test func `events leave by name, and those that the answer forgets stay`() {
        let rejected: [AnswerVerdict.Rejection] = [
            .init(index: 1, eventID: "e1", code: "c"), .init(index: 2, eventID: "other", code: "c"),
            .init(index: 99, eventID: nil, code: "c"), .init(index: -1, eventID: nil, code: "c"),
        ]
        let outcome = outcome(
            .processed(accepted: ["e0", "stranger"], rejected: rejected),
            batch(3),
            failures: 4,
            limit: 10
        )
        #expect(outcome.accepted == ["e0"])
        #expect(outcome.rejected == [.init(eventID: "e1", code: "c")])
        #expect(outcome.kept == ["e2"])
        #expect(outcome.errorClass == .unanswered)
        #expect(outcome.keptMilliseconds > 0)
        #expect(outcome.pause == nil)
        #expect(outcome.isAcknowledged)
        #expect(outcome.state == DeliveryState(failures: 0, batchLimit: 20))
    }

    @Test func `an answer that names nothing is a failure`() {
        let outcome = outcome(.processed(accepted: [], rejected: []), batch(2))
        #expect(outcome.kept.count == 2)
        #expect(outcome.pause?.scope == .everything)
        #expect(outcome.state.failures == 1)
    }

    @Test func `a request that is refused as a whole is halved at once, down to one event that goes to quarantine`() {
        for verdict in [AnswerVerdict.invalid(code: "c"), .tooLarge(isFinal: true), .tooLarge(isFinal: false)] {
            let outcome = outcome(verdict, batch(25))
            #expect(outcome.kept.count == 25)
            #expect(outcome.keptMilliseconds == 0)
            #expect(outcome.pause == nil)
            #expect(outcome.state == DeliveryState(batchLimit: 12))
        }
        #expect(outcome(.tooLarge(isFinal: true), batch(1)).rejected == [.init(eventID: "e0", code: "too_large")])
        for verdict in [AnswerVerdict.invalid(code: "too_large"), .tooLarge(isFinal: false)] {
            let first = outcome(verdict, batch(1))
            #expect(first.kept == ["e0"])
            #expect(first.keptMilliseconds > 0)
            #expect(first.pause == nil)
            #expect(outcome(verdict, batch(1, attempts: 3)).rejected == [.init(eventID: "e0", code: "too_large")])
            // When one event after the other is refused, the fault is not in the events.
            #expect(outcome(verdict, batch(1), failures: 2).pause?.scope == .everything)
        }
    }

    @Test func `refused credentials hold up only whose they are, and keep everything`() {
        let user = outcome(.unauthorized, batch(2), hasToken: true)
        #expect(user.kept.count == 2)
        #expect(user.pause == .init(scope: .user, milliseconds: 3_600_000))
        let everybody = outcome(.unauthorized, batch(2))
        #expect(everybody.kept.count == 2)
        #expect(everybody.pause == .init(scope: .everything, milliseconds: 3_600_000))
        #expect(
            outcome(.misdirected, batch(2), hasToken: true).pause == .init(scope: .everything, milliseconds: 3_600_000)
        )
    }

    @Test func `failures wait longer and longer, and what the server asks for goes before that`() {
        #expect(outcome(.failed, batch(1)).pause == .init(scope: .everything, milliseconds: 2500))
        #expect(outcome(.failed, batch(1), failures: 5).pause == .init(scope: .everything, milliseconds: 80_000))
        #expect(outcome(.later(seconds: nil), batch(1), failures: 1).pause?.milliseconds == 5000)
        #expect(outcome(.later(seconds: 77), batch(1), failures: 9).pause?.milliseconds == 77_000)
        let failed = outcome(.serverFailed, batch(40), failures: 1)
        #expect(failed.state == DeliveryState(failures: 2, batchLimit: 20))
        #expect(failed.pause?.milliseconds == 5000)
        #expect(outcome(.failed, batch(40)).state.batchLimit == 100)
    }

    @Test func `a cancelled request counts as none`() {
        let outcome = policy.cancelled(batch(2), state: DeliveryState(failures: 3, batchLimit: 50))
        #expect(outcome.kept.count == 2)
        #expect(outcome.keptMilliseconds == 0)
        #expect(outcome.pause == nil)
        #expect(outcome.state == DeliveryState(failures: 3, batchLimit: 50))
    }
}

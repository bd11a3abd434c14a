// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import Testing

/// Case C13.
struct ClockPolicyTests {
    private let now = 1_796_000_000
    private let policy = ClockPolicy(maximumAge: 1000, onAge: .quarantine, maximumFuture: 300, onFuture: .clamp)

    @Test func `nothing inside the window is touched, up to its edges`() {
        for occurredAt in [now - 1000, now - 1, now, now + 300] {
            #expect(policy.judge(occurredAt: occurredAt, receivedAt: now, clientSentAt: now - 5000) == .keep)
        }
    }

    @Test func `each direction has its action`() {
        func verdict(_ action: ClockPolicy.Action, _ occurredAt: Int) -> ClockPolicy.Verdict {
            ClockPolicy(maximumAge: 1000, onAge: action, maximumFuture: 300, onFuture: action)
                .judge(occurredAt: occurredAt, receivedAt: now, clientSentAt: nil)
        }
        #expect(verdict(.reject, now - 1001) == .reject(.occurredAtTooOld))
        #expect(verdict(.quarantine, now - 1001) == .quarantine(.occurredAtTooOld))
        #expect(verdict(.clamp, now - 1001) == .clamp(now - 1000))
        #expect(verdict(.off, now - 1001) == .keep)
        #expect(verdict(.reject, now + 301) == .reject(.occurredAtInFuture))
        #expect(verdict(.quarantine, now + 301) == .quarantine(.occurredAtInFuture))
        #expect(verdict(.clamp, now + 301) == .clamp(now + 300))
        #expect(verdict(.off, now + 301) == .keep)
    }

    @Test func `a clamp corrects by the skew when that lands inside the window`() {
        // Three hours ahead, and sent at once.
        let ahead = policy.judge(occurredAt: now + 10_800, receivedAt: now, clientSentAt: now + 10_805)
        #expect(ahead == .clamp(now - 5))
        // The skew would move it out on the other side.
        let beyond = policy.judge(occurredAt: now + 400, receivedAt: now, clientSentAt: now + 5000)
        #expect(beyond == .clamp(now + 300))
        let behind = ClockPolicy(maximumAge: 1000, onAge: .clamp)
        #expect(behind.judge(occurredAt: now - 60_000, receivedAt: now, clientSentAt: now - 59_990) == .clamp(now - 10))
        #expect(behind.judge(occurredAt: now - 60_000, receivedAt: now, clientSentAt: nil) == .clamp(now - 1000))
    }

    @Test func `the defaults are thirty days and five minutes, and off is off`() {
        let standard = ClockPolicy()
        let month = 30 * 86_400
        #expect(standard.judge(occurredAt: now - month, receivedAt: now, clientSentAt: nil) == .keep)
        #expect(
            standard.judge(occurredAt: now - month - 1, receivedAt: now, clientSentAt: nil)
                == .quarantine(.occurredAtTooOld)
        )
        #expect(standard.judge(occurredAt: now + 301, receivedAt: now, clientSentAt: nil) == .clamp(now + 300))
        #expect(ClockPolicy.off.judge(occurredAt: 0, receivedAt: now, clientSentAt: nil) == .keep)
        #expect(ClockPolicy.off.judge(occurredAt: 99_999_999_999, receivedAt: now, clientSentAt: 0) == .keep)
    }

    @Test func `a device two years behind is set aside, marked when clamped, and its original stays`() throws {
        let contract = try Inputs.contract()
        let body = Envelope(["occurred_at": "1733000000", "client_sent_at": "1733000005"]).body
        let aside = Judged(body, by: contract)
        #expect(aside.events.first?.outcome == .quarantined)
        #expect(aside.events.first?.code == "occurred_at_too_old")
        #expect(
            aside.records.first?.contains(#","quarantine":{"reason":"occurred_at_too_old","detail":"occurred_at"},"#)
                == true
        )
        var admission = Admission.phone
        admission.clock.onAge = .clamp
        let clamped = Judged(body, by: contract, under: admission)
        #expect(clamped.clamped == 1)
        let record = try clamped.record()
        #expect(record["timestamp"] as? Int == 1_796_000_005)
        #expect(record["timestamp_corrected"] as? Bool == true)
        #expect(try clamped.part("envelope")["occurred_at"] as? Int == 1_733_000_000)
        #expect(record["client_sent_at"] as? Int == 1_733_000_005)
        admission.clock.onAge = .reject
        let rejected = Judged(body, by: contract, under: admission)
        #expect(
            rejected.events == [
                .init(outcome: .rejected, code: "occurred_at_too_old", id: "e-1", detail: "occurred_at", event: 0)
            ]
        )
        #expect(rejected.records.isEmpty)
    }

    @Test func `an offline week with a right clock changes nothing`() throws {
        let body = Envelope(["occurred_at": "1795395200"]).body
        let judged = Judged(body, by: try Inputs.contract())
        #expect(judged.codes == [nil])
        #expect(try judged.record()["timestamp"] as? Int == 1_795_395_200)
        #expect(try judged.record()["timestamp_corrected"] == nil)
    }
}

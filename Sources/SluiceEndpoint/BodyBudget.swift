// SPDX-License-Identifier: Apache-2.0
internal import SluiceServer
internal import SluiceSystem

/// The memory for bodies that are received, inflated or judged, and for records that wait for the disk.
///
/// Charged by what has come, never by what a head promises. A request holds its charge until it is answered. One address
/// gets an eighth. When all is spent, whoever comes is refused, and the body that came slowest is given up.
final class BodyBudget: Sendable {
    enum Verdict {
        case charged
        /// All is spent; the ticket of the body to close, if one has been slow for long enough.
        case spent(slowest: ServerTicket?)
        /// The address has its eighth.
        case addressSpent
    }

    private struct State {
        var used = 0
        var usedByNetwork: [PeerAddress: Int] = [:]
        /// Bodies that are being received; each knows its place.
        var bodies: ContiguousArray<RequestState> = []
        var lookedAt: Int64 = .min
    }

    private static let lookNanoseconds: Int64 = 50_000_000

    private let state = Lock(State())
    private let clock: SystemClock

    init(clock: SystemClock) {
        self.clock = clock
    }

    var usedBytes: Int { state.withLock { $0.used } }

    /// Charges a piece of a body; the first one enters it among those being received.
    func charge(_ request: RequestState, _ bytes: Int) -> Verdict {
        let maximum = request.policy.settings.maximumBufferedBytes
        return state.withLock { state in
            if let network = request.address?.network {
                let used = state.usedByNetwork[network, default: 0]
                if used + bytes > maximum / 8 { return .addressSpent }
                if state.used + bytes <= maximum { state.usedByNetwork[network] = used + bytes }
            }
            guard state.used + bytes <= maximum else { return .spent(slowest: slowest(&state, but: request)) }
            state.used += bytes
            request.charge += bytes
            if request.slot < 0 {
                request.slot = state.bodies.count
                request.beganAt = clock.monotonicNanoseconds()
                state.bodies.append(request)
            }
            return .charged
        }
    }

    /// The body has been received: it is no longer slow, and what is kept of it is `bytes`.
    func settle(_ request: RequestState, _ bytes: Int) {
        state.withLock { state in
            leave(request, &state)
            add(bytes - request.charge, request, &state)
        }
    }

    /// The request has ended.
    func release(_ request: RequestState) { settle(request, 0) }

    private func add(_ bytes: Int, _ request: RequestState, _ state: inout State) {
        if bytes == 0 { return }
        state.used += bytes
        request.charge += bytes
        guard let network = request.address?.network else { return }
        let used = state.usedByNetwork[network, default: 0] + bytes
        state.usedByNetwork[network] = used > 0 ? used : nil
    }

    private func leave(_ request: RequestState, _ state: inout State) {
        guard request.slot >= 0, let last = state.bodies.popLast() else { return }
        if last !== request {
            state.bodies[request.slot] = last
            last.slot = request.slot
        }
        request.slot = -1
    }

    private func slowest(_ state: inout State, but request: RequestState) -> ServerTicket? {
        let now = clock.monotonicNanoseconds()
        if state.lookedAt != .min && now - state.lookedAt < Self.lookNanoseconds { return nil }
        state.lookedAt = now
        var found: (rate: Double, body: RequestState)?
        let age = Int64(request.policy.settings.slowBodyAge / .nanoseconds(1))
        for body in state.bodies where body !== request && now - body.beganAt >= age {
            let rate = Double(body.charge) / Double(max(1, now - body.beganAt))
            if found.map({ rate < $0.rate }) ?? true { found = (rate, body) }
        }
        return found?.body.ticket
    }
}

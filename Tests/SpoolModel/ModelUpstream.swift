// SPDX-License-Identifier: Apache-2.0
internal import SluiceRelay
internal import SluiceSystem
internal import SluiceTestSupport

/// The destination of the model: looks at every event that arrives, notes it, and answers by a policy.
final class ModelUpstream: Sendable {
    enum Answer: Hashable, Sendable {
        case take
        /// The events have arrived, and the relay cannot know.
        case takeAndReset
        case fail
        case close
    }

    struct Policy: Sendable {
        /// Refuses the records of that kind; else it takes them.
        var refuses = true
        /// To the first requests; the others are taken.
        var answers: [Answer] = []
        /// After so many requests it lets the relay end, in good order or at once.
        var stopsAfter: Int?
        var givesUp = false
    }

    private struct State {
        var policy = Policy()
        var relay = 0
        var requests = 0
        var control: RelayControl?
    }

    /// The key of a relay's requests tells whose they are, for those that come when their relay has given up.
    static func key(of relay: Int) -> String { "relay-\(relay)" }

    private let records: ModelRecords
    private let clock: ModelClock
    private let state = Lock(State())
    private let mark: @Sendable (Mark) -> Void
    // Set once, before the first request.
    private nonisolated(unsafe) var server: ScriptedServer?

    init(_ records: ModelRecords, clock: ModelClock, mark: @escaping @Sendable (Mark) -> Void) {
        self.records = records
        self.clock = clock
        self.mark = mark
        server = Upstream { [weak self] request, _ in self?.decide(request) ?? .close }.server()
    }

    var url: String { server?.url ?? "" }

    func stop() { server?.stop() }

    /// Makes ready for the requests of one relay.
    func expect(relay: Int, control: RelayControl, policy: Policy) {
        state.withLock { $0 = State(policy: policy, relay: relay, requests: 0, control: control) }
    }

    private func decide(_ request: Upstream.Request) -> ScriptedServer.Step {
        var serials: [Int] = []
        for event in request.events {
            guard let serial = ModelRecord.serial(in: event), let record = records[serial] else {
                mark(.fault("an event of no record arrived: \(event)"))
                continue
            }
            if !record.eventText.utf8.elementsEqual(event.utf8) {
                mark(.fault("record \(serial) arrived altered: \(event)"))
            }
            serials.append(serial)
        }
        let relay = Int(request.apiKey.dropFirst(Self.key(of: 0).count - 1)) ?? -1
        let (policy, number, control) = state.withLock { state in
            guard state.relay == relay else { return (Policy(), 0, RelayControl?.none) }
            defer { state.requests += 1 }
            return (state.policy, state.requests, state.control)
        }
        let isLast = policy.stopsAfter.map { number + 1 >= $0 } ?? false
        if isLast {
            if policy.givesUp { control?.giveUp() } else { control?.stop() }
        }
        var answer = number < policy.answers.count ? policy.answers[number] : .take
        let isRefused = policy.refuses && serials.contains { records[$0]?.kind == .refused }
        if isRefused && answer != .fail && answer != .close { answer = .fail }
        let isTaken = answer == .take || answer == .takeAndReset
        let at = clock.monotonicNanoseconds
        let isAnswered = answer != .takeAndReset && !(policy.givesUp && isLast)
        mark(.arrived(relay: relay, serials: serials, isTaken: isTaken, isAnswered: isAnswered, at: at))
        switch answer {
        case .take: return .status(200, body: "{}")
        case .takeAndReset: return .reset
        case .fail: return isRefused ? .status(400, body: "refused") : .status(503)
        case .close: return .close
        }
    }
}

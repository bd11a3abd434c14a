// SPDX-License-Identifier: Apache-2.0
import SluiceServer
import SluiceSystem

/// Gives outcomes a fixed time after their request, from one thread, however many wait.
final class DelayedOutcomes: Sendable {
    private struct Entry {
        var due: Int64
        var outcome: ServerHandler.Outcome
        var ticket: ServerTicket
    }

    private struct State {
        /// In order of time, as the delay is the same for all.
        var entries: [Entry] = []
        var isStopped = false
    }

    private let delay: Int64
    private let state = Lock(State())
    private let signal = Signal()
    private let thread = Lock<SystemThread?>(nil)

    init(milliseconds: Int) {
        delay = Int64(milliseconds) * 1_000_000
        let thread = SystemThread(name: "delays") { [self] in run() }
        self.thread.withLock { $0 = thread }
    }

    func add(_ outcome: ServerHandler.Outcome, _ ticket: ServerTicket) {
        let due = SystemClock.system.monotonicNanoseconds() + delay
        let isFirst = state.withLock { state in
            state.entries.append(Entry(due: due, outcome: outcome, ticket: ticket))
            return state.entries.count == 1
        }
        if isFirst { signal.raise() }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        signal.raise()
        thread.withLock { $0 }?.join()
    }

    private func run() {
        while true {
            let now = SystemClock.system.monotonicNanoseconds()
            let (due, wait, isStopped) = state.withLock { state in
                let count = state.entries.firstIndex { $0.due > now } ?? state.entries.count
                let due = Array(state.entries.prefix(count))
                state.entries.removeFirst(count)
                return (due, (state.entries.first?.due ?? now + 1_000_000_000) - now, state.isStopped)
            }
            for entry in due {
                switch entry.outcome {
                case .answer(let answer): entry.ticket.answer(answer)
                case .reset: entry.ticket.reset()
                case .later: break
                }
            }
            if isStopped { return }
            signal.wait(nanoseconds: wait)
        }
    }
}

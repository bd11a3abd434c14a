// SPDX-License-Identifier: Apache-2.0
import SluiceServer
import SluiceSystem

/// Gives outcomes some time after their request, from one thread, however many wait.
final class DelayedOutcomes: Sendable {
    private struct Entry {
        var due: Int64
        var outcome: ServerHandler.Outcome
        var ticket: ServerTicket
    }

    private struct State {
        /// In order of time.
        var entries: [Entry] = []
        var isStopped = false
    }

    private let state = Lock(State())
    private let signal = Signal()
    private let thread = Lock<SystemThread?>(nil)

    init() {
        let thread = SystemThread(name: "delays") { [self] in run() }
        self.thread.withLock { $0 = thread }
    }

    func add(_ outcome: ServerHandler.Outcome, _ ticket: ServerTicket, milliseconds: Int) {
        let due = SystemClock.system.monotonicNanoseconds() + Int64(milliseconds) * 1_000_000
        let isFirst = state.withLock { state in
            // Nearly always the last, as most delays are the same.
            let index = (state.entries.lastIndex { $0.due <= due } ?? -1) + 1
            state.entries.insert(Entry(due: due, outcome: outcome, ticket: ticket), at: index)
            return index == 0
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

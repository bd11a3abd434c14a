// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// What other threads may ask of a relay while it runs.
package final class RelayControl: Sendable {
    private struct State {
        var isStopping = false
        var isGivingUp = false
        var options: RelayOptions?
    }

    private let state = Lock(State())
    let signal = Signal()

    package init() {}

    /// Ends the run in good order: no new claims and requests, those under way get the grace period.
    package func stop() {
        state.withLock { $0.isStopping = true }
        signal.raise()
    }

    /// Ends the run without waiting for requests that are under way; they are sent again by the next.
    package func giveUp() {
        state.withLock { state in
            state.isStopping = true
            state.isGivingUp = true
        }
        signal.raise()
    }

    /// Works on with other options, reads the API key again, and probes a closed destination at once.
    package func reload(_ options: RelayOptions) {
        state.withLock { $0.options = options }
        signal.raise()
    }

    var isStopping: Bool { state.withLock { $0.isStopping } }
    var isGivingUp: Bool { state.withLock { $0.isGivingUp } }

    /// Takes what was asked since the last call.
    func takeReload() -> RelayOptions? {
        state.withLock { state in
            defer { state.options = nil }
            return state.options
        }
    }
}

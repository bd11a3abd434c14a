// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import SluiceSystem

/// Calls a closure at an interval on a thread of its own until it is stopped.
package final class Watchdog: Sendable {
    private let stopped = DispatchSemaphore(value: 0)
    private let thread: SystemThread

    init(interval: Duration, _ body: @escaping @Sendable () -> Void) {
        let stopped = stopped
        let nanoseconds = Int(interval / .nanoseconds(1))
        thread = SystemThread(name: "watchdog") {
            repeat { body() } while stopped.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .timedOut
        }
    }

    /// Ends the thread and waits for it.
    package func stop() {
        stopped.signal()
        thread.join()
    }
}

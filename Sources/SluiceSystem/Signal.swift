// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// Wakes a thread that waits for work: any number of calls before a wait end that wait at once.
package final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isRaised = Atomic<Bool>(false)

    package init() {}

    package func raise() {
        if !isRaised.exchange(true, ordering: .acquiringAndReleasing) { semaphore.signal() }
    }

    /// Waits until the signal is raised, at most for `nanoseconds`.
    package func wait(nanoseconds: Int64) {
        if nanoseconds > 0 || isRaised.load(ordering: .acquiring) {
            if semaphore.wait(timeout: .now() + .nanoseconds(Int(max(nanoseconds, 0)))) == .success {
                isRaised.store(false, ordering: .releasing)
            }
        }
    }
}

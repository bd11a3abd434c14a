// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// How often SIGTERM or SIGINT came.
final class Interrupts: Sendable {
    private let number = Atomic<Int>(0)

    var count: Int { number.load(ordering: .relaxed) }

    func note() { number.add(1, ordering: .relaxed) }
}

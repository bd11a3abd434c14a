// SPDX-License-Identifier: Apache-2.0

/// What records the calls of this process; the program that drives the model brings it along.
package struct CallRecorder: Sendable {
    /// Begins an empty recording of what happens below an absolute path without links.
    package var start: @Sendable (_ root: String) -> Void
    package var stop: @Sendable () -> Void
    package var mark: @Sendable (Int) -> Void
    /// What was recorded since the last start.
    package var operations: @Sendable () -> [FileOperation]
    /// Makes the random numbers of this process a sequence.
    package var seed: @Sendable (UInt64) -> Void

    package init(
        start: @escaping @Sendable (_ root: String) -> Void,
        stop: @escaping @Sendable () -> Void,
        mark: @escaping @Sendable (Int) -> Void,
        operations: @escaping @Sendable () -> [FileOperation],
        seed: @escaping @Sendable (UInt64) -> Void
    ) {
        self.start = start
        self.stop = stop
        self.mark = mark
        self.operations = operations
        self.seed = seed
    }
}

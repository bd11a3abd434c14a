// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// A clock that moves when a test says so.
package final class ManualClock: Sendable {
    private let time: Lock<(wall: Int64, monotonic: Int64)>

    package init(wallMilliseconds: Int64 = 1_796_000_000_000) {
        time = Lock((wallMilliseconds, 0))
    }

    package var clock: SystemClock {
        SystemClock(
            wallMilliseconds: { self.time.withLock { $0.wall } },
            monotonicNanoseconds: { self.time.withLock { $0.monotonic } }
        )
    }

    /// Moves both clocks on.
    package func advance(milliseconds: Int64) {
        time.withLock {
            $0.wall += milliseconds
            $0.monotonic += milliseconds * 1_000_000
        }
    }

    /// Steps the wall alone, as an administrator or a time service does.
    package func stepWall(milliseconds: Int64) {
        time.withLock { $0.wall += milliseconds }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Where a part gets its time from: the wall for what is written down, the monotonic clock for waiting.
package struct SystemClock: Sendable {
    /// Milliseconds since 1970, as the machine believes them.
    package var wallMilliseconds: @Sendable () -> Int64
    /// Nanoseconds that never go back; their zero means nothing.
    package var monotonicNanoseconds: @Sendable () -> Int64

    package init(
        wallMilliseconds: @escaping @Sendable () -> Int64,
        monotonicNanoseconds: @escaping @Sendable () -> Int64
    ) {
        self.wallMilliseconds = wallMilliseconds
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    package var wallSeconds: Int { Int(wallMilliseconds() / 1000) }

    /// The machine's own clocks.
    package static let system = SystemClock(
        wallMilliseconds: { nanoseconds(of: CLOCK_REALTIME) / 1_000_000 },
        monotonicNanoseconds: { nanoseconds(of: CLOCK_MONOTONIC) }
    )
}

private func nanoseconds(of clock: clockid_t) -> Int64 {
    var now = timespec()
    clock_gettime(clock, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
}

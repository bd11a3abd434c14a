// SPDX-License-Identifier: Apache-2.0

/// Notices steps of the wall clock, after which nothing is expired for a while.
struct ClockWatch {
    /// A step is a change against the monotonic clock of more than this, in milliseconds.
    private static let toleranceMilliseconds: Int64 = 5_000
    /// How long a step keeps records from expiring, in nanoseconds.
    private static let pauseNanoseconds: Int64 = 600 * 1_000_000_000

    private var offset: Int64?
    private var pausedUntil: Int64 = .min

    /// Takes a look at both clocks.
    ///
    /// - Returns: whether records may be judged expired now.
    mutating func mayExpire(wallMilliseconds: Int64, monotonic: Int64) -> Bool {
        let current = wallMilliseconds - monotonic / 1_000_000
        if let offset, abs(current - offset) > Self.toleranceMilliseconds {
            pausedUntil = monotonic + Self.pauseNanoseconds
        }
        offset = current
        return monotonic >= pausedUntil
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A stretch of use in one process; events count up in it, so that their order survives whole seconds.
struct Session {
    private(set) var id: String
    private(set) var sequence = 0
    private var lastEventAt: Int64

    init(id: String, now: Int64) {
        self.id = id
        lastEventAt = now
    }

    /// Whether an event now belongs to it; a clock that was put back by more than the time-out ends it too.
    func continues(at now: Int64, timeout: Duration) -> Bool { abs(now - lastEventAt) <= timeout.milliseconds }

    /// Counts an event that took the number `sequence`.
    mutating func advance(at now: Int64) {
        sequence += 1
        lastEventAt = now
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A fault that may come again and again until it passes, such as a full disk: told when it begins and when it is over.
package struct FaultSpell {
    /// So long nothing has to fail before it is over: where some writes find room and others do not, it goes on.
    private static let calmNanoseconds: Int64 = 10_000_000_000

    private var lastAt: Int64?
    /// Failures of this spell so far.
    package private(set) var failures = 0

    package init() {}

    /// Notes a failure.
    ///
    /// - Returns: whether it is the first of its spell, to be told.
    package mutating func fails(at now: Int64) -> Bool {
        lastAt = now
        failures += 1
        return failures == 1
    }

    /// Notes that it worked.
    ///
    /// - Returns: the failures of the spell that this ends; nil when none ends.
    package mutating func works(at now: Int64) -> Int? {
        guard let lastAt, now - lastAt >= Self.calmNanoseconds else { return nil }
        defer { self = FaultSpell() }
        return failures
    }
}

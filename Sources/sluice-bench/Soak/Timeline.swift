// SPDX-License-Identifier: Apache-2.0

/// What is to be done at a later moment.
final class Timeline {
    private var entries: [(due: Int64, action: () throws -> Void)] = []

    /// Monotonic nanoseconds.
    func add(at due: Int64, _ action: @escaping () throws -> Void) { entries.append((due, action)) }

    func add(after seconds: Double, from now: Int64, _ action: @escaping () throws -> Void) {
        add(at: now + Int64(seconds * 1e9), action)
    }

    /// Does what is due, in order.
    func run(_ now: Int64) throws {
        let due = entries.filter { $0.due <= now }.sorted { $0.due < $1.due }
        entries.removeAll { $0.due <= now }
        for entry in due { try entry.action() }
    }

    func removeAll() { entries = [] }
}

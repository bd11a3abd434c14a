// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// A request's body, kept apart from its connection so that idle connections hold no memory.
package final class ServerBody {
    package var buffer = ByteBuffer()

    package init() {}
}

/// Bodies that are not in use, for the next requests.
///
/// `@unchecked Sendable` for the one thing that moves through the lock: a body in the pool has no other reference.
final class BodyPool: @unchecked Sendable {
    private static let keptBodies = 64
    private static let keptBytes = 256 * 1024

    private let lock = Lock(())
    private var bodies: [ServerBody] = []

    func take() -> ServerBody {
        lock.withLock { _ in bodies.popLast() } ?? ServerBody()
    }

    func give(_ body: ServerBody) {
        guard body.buffer.capacity <= Self.keptBytes else { return }
        body.buffer.removeAll()
        lock.withLock { _ in
            if bodies.count < Self.keptBodies { bodies.append(body) }
        }
    }
}

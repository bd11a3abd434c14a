// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// A value that only one thread at a time can get at, for a few synchronous lines.
///
/// The standard library's `Mutex` unlocks inside the kernel when somebody waits, which Thread Sanitizer cannot see: it
/// then reports races that are none. This one stands on a pthread mutex, which it knows.
///
/// `@unchecked Sendable`: the value is only reached with the mutex held, and nobody keeps it longer, as `withLock` lends
/// it `inout sending`.
package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    @usableFromInline let lock = ThreadLock()
    @usableFromInline let value: UnsafeMutablePointer<Value>

    package init(_ value: consuming sending Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// Lends the value to `body` while no other thread has it; `body` must neither wait nor take the same lock.
    @inlinable
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value.pointee)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// A lock that conditions can be waited for under; where nobody waits, `Lock` is the better choice.
package final class ThreadLock: Sendable {
    // A pthread mutex may be used by all threads; the pointer never changes.
    fileprivate nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init() {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func lock() { pthread_mutex_lock(mutex) }

    package func unlock() { pthread_mutex_unlock(mutex) }
}

/// Something that threads wait for while they leave a `ThreadLock`.
package final class ThreadCondition: Sendable {
    private let lock: ThreadLock
    // A pthread condition may be used by all threads; the pointer never changes.
    private nonisolated(unsafe) let condition: UnsafeMutablePointer<pthread_cond_t>

    /// - Parameter lock: held by everybody who waits.
    package init(with lock: ThreadLock) {
        self.lock = lock
        condition = .allocate(capacity: 1)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Steps of the wall clock must not make anybody wait longer.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    /// Waits, with the lock held before and after; may return without a reason.
    package func wait() { pthread_cond_wait(condition, lock.mutex) }

    /// Waits for at most `nanoseconds`.
    package func wait(nanoseconds: Int64) {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let total = Int64(deadline.tv_nsec) + max(0, min(nanoseconds, 1_000_000_000_000_000))
        deadline.tv_sec += Int(total / 1_000_000_000)
        deadline.tv_nsec = Int(total % 1_000_000_000)
        pthread_cond_timedwait(condition, lock.mutex, &deadline)
    }

    package func signal() { pthread_cond_signal(condition) }

    package func broadcast() { pthread_cond_broadcast(condition) }
}

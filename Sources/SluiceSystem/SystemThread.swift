// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem
internal import Glibc

/// A thread of its own for work that blocks; it takes no signals, so that they reach the thread that waits for them, but
/// those that its own work raises.
package final class SystemThread: Sendable {
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private let handle: Lock<pthread_t?>

    /// Raised by the very instruction that fails, and fatal at once where they are blocked, whatever handles them: the
    /// bus error of a mapped file that was cut must reach its handler.
    private static let raisedByWork = [SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS]

    /// Starts a thread that runs `body` once.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H`; the kernel keeps its first 15 bytes.
    ///   - body: what it does; the thread ends when it returns.
    package init(name: String, _ body: @escaping @Sendable () -> Void) {
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        for signal in Self.raisedByWork { sigdelset(&blocked, signal) }
        // The new thread inherits the mask; with SIGPIPE blocked, a write to a closed socket is an error and no more.
        pthread_sigmask(SIG_SETMASK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Start(name: name, body: body)).toOpaque()
        let code = pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                sluice_name_thread(start.name)
                start.body()
                return nil
            },
            argument
        )
        precondition(code == 0, "no thread can be started: \(String(cString: strerror(code)))")
        handle = Lock(thread)
    }

    /// Waits until the thread has ended; a second call returns at once.
    package func join() {
        let thread = handle.withLock { handle in
            defer { handle = nil }
            return handle
        }
        if let thread { pthread_join(thread, nil) }
    }

    deinit {
        if let thread = handle.withLock({ $0 }) { pthread_detach(thread) }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem
internal import Synchronization

/// SIGTERM, SIGINT and SIGHUP as calls of a closure on a thread of its own.
///
/// `install` belongs into the first lines of a program. Its handlers only write the signal's number to a pipe, which a
/// thread reads. Blocking the signals and waiting for them would not do: the main thread of an asynchronous program
/// waits in `sigsuspend(2)` with nothing blocked. With a handler, a signal reaches PID 1 of a container too.
package final class Signals: Sendable {
    package enum Request: Sendable {
        /// Finish what is under way within the grace period, and end.
        case stop
        /// A second stop: give up what is under way, and end.
        case stopNow
        /// Read configuration and contract again.
        case reload
    }

    private struct State {
        var handler: (@Sendable (Request) -> Void)?
        var waiting: [Request] = []
        var stops = 0
    }

    private let isDelivered: Bool
    private let state = Lock(State())

    private init(isDelivered: Bool) {
        self.isDelivered = isDelivered
    }

    /// Takes the signals over for the rest of the process's life; only once.
    ///
    /// - Parameter delivered: true when the command will call `deliver`; a request that comes earlier waits for it.
    ///   False ends the process at once, as if nothing had been installed.
    /// - Returns: what the command hands its closure to.
    package static func install(delivered: Bool) -> Signals {
        signal(SIGPIPE, SIG_IGN)
        if getpid() == 1 {
            // As PID 1 this process inherits orphans; ignoring SIGCHLD lets the kernel reap them, see sigaction(2),
            // except those that ended before.
            signal(SIGCHLD, SIG_IGN)
            while waitpid(-1, nil, WNOHANG) > 0 {}
        }
        let signals = Signals(isDelivered: delivered)
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { fatalError("no pipe for signals: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler must not wait; a pipe full of signals says enough.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        signalPipe.store(ends[1], ordering: .sequentiallyConsistent)
        let readEnd = ends[0]
        _ = SystemThread(name: "signals") { signals.read(readEnd) }
        for number in [SIGTERM, SIGINT, SIGHUP] where delivered || !isIgnored(number) {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                let code = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = Glibc.write(signalPipe.load(ordering: .sequentiallyConsistent), &byte, 1)
                errno = code
            }
            action.sa_flags = SA_RESTART
            sigaction(number, &action, nil)
        }
        return signals
    }

    /// Hands every request to `handler`, those that came before included; the handler must not block.
    package func deliver(to handler: @escaping @Sendable (Request) -> Void) {
        let waiting = state.withLock { state in
            state.handler = handler
            defer { state.waiting = [] }
            return state.waiting
        }
        for request in waiting { handler(request) }
    }

    private func read(_ descriptor: Int32) {
        var byte: UInt8 = 0
        while true {
            if Glibc.read(descriptor, &byte, 1) == 1 { take(Int32(byte)) }
        }
    }

    private func take(_ number: Int32) {
        guard isDelivered else { end(number) }
        let call: (handler: @Sendable (Request) -> Void, request: Request)? = state.withLock { state in
            let request: Request
            if number == SIGHUP {
                request = .reload
            } else {
                state.stops += 1
                if state.stops > 2 { end(number) }
                request = state.stops == 1 ? .stop : .stopNow
            }
            if let handler = state.handler { return (handler, request) }
            if request == .stopNow { end(number) }
            state.waiting.append(request)
            if state.waiting.count > 8 { state.waiting.removeFirst() }
            return nil
        }
        if let call { call.handler(call.request) }
    }

    /// Ends the process as the signal would have; PID 1 is not ended by its own signal, so it exits.
    private func end(_ number: Int32) -> Never {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        kill(getpid(), number)
        _exit(128 + number)
    }

    /// Whether whoever started the process wants it to ignore a signal, as `nohup` does.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }
}

/// Where the handlers write; made before the first of them is installed, so that they never make it.
private let signalPipe = Atomic<Int32>(-1)

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem
internal import Synchronization

/// SIGTERM, SIGINT and SIGHUP as calls of a closure on a thread of its own.
///
/// `install` belongs into the first lines of a program, before any other thread: it blocks the signals, which every
/// later thread inherits, and waits for them. A blocked signal reaches PID 1 of a container too, which would ignore
/// one that it neither blocks nor handles.
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
    private let state = Mutex(State())

    private init(isDelivered: Bool) {
        self.isDelivered = isDelivered
    }

    /// Takes the signals over for the rest of the process's life.
    ///
    /// - Parameter delivered: true when the command will call `deliver`; a request that comes earlier waits for it.
    ///   False ends the process at once, as if nothing had been installed.
    /// - Returns: what the command hands its closure to.
    package static func install(delivered: Bool) -> Signals {
        signal(SIGPIPE, SIG_IGN)
        // As PID 1 this process inherits orphans; ignoring SIGCHLD lets the kernel reap them, see sigaction(2).
        if getpid() == 1 { signal(SIGCHLD, SIG_IGN) }
        let signals = Signals(isDelivered: delivered)
        var set = sigset_t()
        sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP] where delivered || !isIgnored(number) { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        let watched = set
        _ = SystemThread(name: "signals") { signals.wait(for: watched) }
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

    private func wait(for set: sigset_t) {
        var set = set
        while true {
            var number: Int32 = 0
            if sigwait(&set, &number) == 0 { take(number) }
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

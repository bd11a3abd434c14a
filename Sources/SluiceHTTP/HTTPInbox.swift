// SPDX-License-Identifier: Apache-2.0
internal import CSluiceCurl
internal import SluiceSystem

/// What the client's thread and its callers share.
final class HTTPInbox: Sendable {
    struct Pending: Sendable {
        var request: HTTPRequest
        var tag: Int
        var sentAt: Int64
    }

    /// What the thread has to do next.
    struct Work {
        var cancels = false
        var stops = false
        /// There was nothing: whoever adds something from now on wakes the thread.
        var mayWait = false
    }

    private struct State {
        var pending: [Pending] = []
        var completions: [HTTPCompletion] = []
        var work = Work()
        /// The thread waits in `curl_multi_poll`, or is about to; only then is a wake-up worth its system call.
        var isWaiting = false
        /// The thread has ended; its multi handle must not be used any more.
        var hasEnded = false
    }

    let multi: MultiHandle
    private let state = Lock(State())

    init(multi: MultiHandle) { self.multi = multi }

    func add(_ pending: Pending) {
        change { $0.pending.append(pending) }
    }

    func cancelAll() { change { $0.work.cancels = true } }

    func stop() { change { $0.work.stops = true } }

    private func change(_ body: (inout State) -> Void) {
        let wakes = state.withLock { state in
            if state.hasEnded { return false }
            body(&state)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if wakes { multi.wakeUp() }
    }

    /// Hands the thread what came in, in exchange for an empty array; with nothing to do it is marked as waiting.
    func takeWork(_ pending: inout [Pending]) -> Work {
        state.withLock { state in
            swap(&state.pending, &pending)
            var work = state.work
            state.work.cancels = false
            work.mayWait = pending.isEmpty && !work.cancels && !work.stops
            state.isWaiting = work.mayWait
            return work
        }
    }

    func finish(_ completions: inout [HTTPCompletion]) {
        state.withLock { state in
            if state.completions.isEmpty {
                swap(&state.completions, &completions)
            } else {
                state.completions.append(contentsOf: completions)
            }
        }
        completions.removeAll(keepingCapacity: true)
    }

    func takeCompletions(into completions: inout [HTTPCompletion]) {
        state.withLock { state in
            if completions.isEmpty {
                swap(&state.completions, &completions)
            } else {
                completions.append(contentsOf: state.completions)
            }
            state.completions.removeAll(keepingCapacity: true)
        }
    }

    /// Marks the end of the thread.
    ///
    /// - Returns: what came in after its last look.
    func end() -> [Pending] {
        state.withLock { state in
            state.hasEnded = true
            defer { state.pending = [] }
            return state.pending
        }
    }
}

/// libcurl's multi handle, freed with its last reference.
///
/// `@unchecked Sendable`: all calls are made by the client's thread, but for `curl_multi_wakeup`, which any thread may
/// call while the handle lives: https://curl.se/libcurl/c/curl_multi_wakeup.html
final class MultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    private static let isReady: Bool = sluice_curl_global_init() == CURLE_OK

    init(keptConnections: Int) {
        precondition(Self.isReady, "libcurl cannot be initialised")
        guard let pointer = curl_multi_init() else { fatalError("out of memory for libcurl's multi handle") }
        self.pointer = pointer
        sluice_curl_multi_setopt_long(pointer, CURLMOPT_MAXCONNECTS, keptConnections)
    }

    func wakeUp() { curl_multi_wakeup(pointer) }

    deinit { curl_multi_cleanup(pointer) }
}

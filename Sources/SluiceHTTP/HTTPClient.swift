// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// An HTTP client for one engine loop: `send` never waits, completions are collected until they are taken.
///
/// One thread of its own runs libcurl's multi interface: HTTP/1.1 with connections kept open, HTTP/2 where TLS offers
/// it, TLS verified, redirects and proxies of the environment ignored. Every `send` puts its request on the wire at
/// most once; a repeat is the caller's decision.
package final class HTTPClient: Sendable {
    private let inbox: HTTPInbox
    private let thread: SystemThread
    private let clock: SystemClock

    /// Starts the client.
    ///
    /// - Parameters:
    ///   - configuration: limits, the same for every request.
    ///   - clock: measures durations.
    ///   - onCompletion: called on the client's thread after a round that had completions, not once for each; it must
    ///     not wait, and not call `close`.
    package init(
        _ configuration: HTTPClientConfiguration = HTTPClientConfiguration(),
        clock: SystemClock = .system,
        onCompletion: @escaping @Sendable () -> Void
    ) {
        let inbox = HTTPInbox(multi: MultiHandle(keptConnections: configuration.keptConnections))
        self.inbox = inbox
        self.clock = clock
        thread = SystemThread(name: "http client") {
            let loop = HTTPLoop(configuration, inbox: inbox, clock: clock, onCompletion: onCompletion)
            loop.run()
        }
    }

    /// Sends `request` as soon as the client's thread gets to it.
    ///
    /// - Parameters:
    ///   - request: its body is kept, not copied, until the request has ended.
    ///   - tag: comes back with the completion. After `close` there is none.
    package func send(_ request: HTTPRequest, tag: Int) {
        inbox.add(HTTPInbox.Pending(request: request, tag: tag, sentAt: clock.monotonicNanoseconds()))
    }

    /// Appends every completion since the last call to `completions`.
    package func takeCompletions(into completions: inout [HTTPCompletion]) {
        inbox.takeCompletions(into: &completions)
    }

    /// Ends everything that was sent and not answered; each gets a completion of kind `.cancelled`.
    package func cancelAll() { inbox.cancelAll() }

    /// Cancels what is open, closes all connections and waits for the thread to end; completions can still be taken.
    package func close() {
        inbox.stop()
        thread.join()
    }

    deinit { close() }

    /// Sends one request with a client of its own and waits for its end; for commands and tests that do nothing else.
    package static func exchange(
        _ request: HTTPRequest,
        _ configuration: HTTPClientConfiguration = HTTPClientConfiguration()
    ) -> HTTPCompletion {
        let signal = Signal()
        let client = HTTPClient(configuration) { signal.raise() }
        defer { client.close() }
        client.send(request, tag: 0)
        var completions: [HTTPCompletion] = []
        while true {
            client.takeCompletions(into: &completions)
            if let completion = completions.first { return completion }
            signal.wait(nanoseconds: 1_000_000_000)
        }
    }
}

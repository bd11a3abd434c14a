// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// A server on 127.0.0.1 that does to each request what the test says, down to the bytes and the reset.
///
/// Plain sockets and a thread for each connection, so that nothing tidies up the faults.
package final class ScriptedServer: Sendable {
    /// What happens to one request.
    package enum Step: Sendable {
        /// Reads the request, sends these bytes; `closes` ends the connection then.
        case answer([UInt8], closes: Bool = false)
        /// Reads the request and ends the connection without a byte.
        case close
        /// Reads the request and resets the connection.
        case reset
        /// Resets the connection after so many bytes of the request.
        case resetInRequest(after: Int)
        /// Reads the request and stays silent until the other side gives up.
        case stall
        /// Reads the request, then sends a byte of these at a time.
        case drip([UInt8], every: Duration)
        /// Reads the request, sends `head`, then `piece` again and again without end.
        case endless(head: [UInt8], piece: [UInt8])
        /// Never reads the request.
        case ignore
        /// Reads the request and does what its content asks for.
        case decide(@Sendable (ReceivedRequest) -> Step)

        /// A well-formed answer; the connection stays open.
        package static func status(_ status: Int, headers: [String] = [], body: String = "") -> Step {
            let lines = ["HTTP/1.1 \(status) Scripted"] + headers + ["Content-Length: \(body.utf8.count)", "", body]
            return .answer(Array(lines.joined(separator: "\r\n").utf8))
        }
    }

    private struct State {
        var requests: [ReceivedRequest] = []
        var connections: [ObjectIdentifier: LoopbackSocket] = [:]
        var connectionCount = 0
        var requestCount = 0
        var threads: [SystemThread] = []
        var isStopped = false
    }

    private let listener: LoopbackSocket
    private let script: @Sendable (Int) -> Step
    private let state = Lock(State())
    private let acceptor = Lock<SystemThread?>(nil)

    /// Starts a server.
    ///
    /// - Parameter script: called at the first byte of each request with its number, from 0 in order of arrival.
    package init(_ script: @escaping @Sendable (_ number: Int) -> Step) {
        listener = .bound(backlog: 128)
        self.script = script
        let thread = SystemThread(name: "script accept") { [self] in accept() }
        acceptor.withLock { $0 = thread }
    }

    /// Does the steps one after the other, then the last one for ever.
    package convenience init(_ steps: [Step]) {
        self.init { number in steps[min(number, steps.count - 1)] }
    }

    package var port: UInt16 { listener.port }
    package var url: String { "http://127.0.0.1:\(port)" }
    /// Requests that were read as a whole, in order.
    package var requests: [ReceivedRequest] { state.withLock { $0.requests } }
    /// Connections taken so far.
    package var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// Ends all connections and threads.
    package func stop() {
        let connections = state.withLock { state in
            state.isStopped = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.shutDown() }
        listener.shutDown()
        acceptor.withLock { $0 }?.join()
        let threads = state.withLock { state in
            defer { state.threads = [] }
            return state.threads
        }
        for thread in threads { thread.join() }
    }

    private func accept() {
        while let connection = listener.accepted() {
            let isWelcome = state.withLock { state in
                if state.isStopped { return false }
                state.connections[ObjectIdentifier(connection)] = connection
                state.connectionCount += 1
                return true
            }
            if !isWelcome { return }
            let thread = SystemThread(name: "script serve") { [self] in
                serve(connection)
                state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
            }
            state.withLock { $0.threads.append(thread) }
        }
    }

    private func serve(_ connection: LoopbackSocket) {
        var received: [UInt8] = []
        while true {
            if received.isEmpty { received = connection.receive(1) }
            if received.isEmpty { return }
            let number = state.withLock { state in
                defer { state.requestCount += 1 }
                return state.requestCount
            }
            let step = script(number)
            switch step {
            case .ignore: return waitForStop(connection)
            case .resetInRequest(let limit): return reset(connection, after: limit - received.count)
            default: break
            }
            guard let request = readRequest(connection, &received) else { return }
            if !perform(step, request, connection) { return }
        }
    }

    private func readRequest(_ connection: LoopbackSocket, _ received: inout [UInt8]) -> ReceivedRequest? {
        var request = ReceivedRequest(bytes: received)
        while !request.isComplete {
            let piece = connection.receive()
            if piece.isEmpty { return nil }
            received += piece
            request = ReceivedRequest(bytes: received)
        }
        received.removeFirst(request.length)
        request.trim()
        state.withLock { $0.requests.append(request) }
        return request
    }

    private func reset(_ connection: LoopbackSocket, after count: Int) {
        var rest = count
        while rest > 0 {
            let piece = connection.receive(rest)
            if piece.isEmpty { return }
            rest -= piece.count
        }
        connection.resetWhenClosed()
    }

    /// Does what comes after the request.
    ///
    /// - Returns: whether the connection goes on.
    private func perform(_ step: Step, _ request: ReceivedRequest, _ connection: LoopbackSocket) -> Bool {
        switch step {
        case .answer(let bytes, let closes):
            return connection.send(bytes) && !closes
        case .close, .ignore, .resetInRequest:
            return false
        case .reset:
            connection.resetWhenClosed()
            return false
        case .stall:
            waitForStop(connection)
            return false
        case .drip(let bytes, let interval):
            for byte in bytes {
                if !connection.send([byte]) || isGone(connection, within: interval) { return false }
            }
            return true
        case .endless(let head, let piece):
            guard connection.send(head) else { return false }
            while connection.send(piece) {}
            return false
        case .decide(let decision):
            return perform(decision(request), request, connection)
        }
    }

    /// Waits until the other side or `stop` ends the connection, without reading.
    private func waitForStop(_ connection: LoopbackSocket) {
        var entry = pollfd(descriptor: connection.descriptor, events: peerHasEnded)
        while true {
            poll(&entry, 1, 1000)
            if entry.revents != 0 || state.withLock({ $0.isStopped }) { return }
        }
    }

    private func isGone(_ connection: LoopbackSocket, within duration: Duration) -> Bool {
        var entry = pollfd(descriptor: connection.descriptor, events: peerHasEnded)
        let (seconds, attoseconds) = duration.components
        return poll(&entry, 1, Int32(seconds * 1000 + attoseconds / 1_000_000_000_000_000)) > 0
    }
}

/// POLLRDHUP, which Swift's view of the C library leaves out.
private let peerHasEnded: Int16 = 0x2000

extension pollfd {
    fileprivate init(descriptor: Int32, events: Int16) {
        self.init(fd: descriptor, events: events, revents: 0)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD
internal import Glibc
internal import SluiceSystem
internal import Synchronization

/// One request on a connection, as a handler sees it; the object stays with the connection and serves its next requests
/// too.
///
/// `@unchecked Sendable`, for its parts have these owners: constants; `reply` and `deadline`, which are locked or
/// atomic and are all that other threads touch; everything else, which only the connection's server thread touches, in
/// callbacks that come one after the other.
package final class ServerRequest: @unchecked Sendable {
    /// Where a connection stands.
    enum Phase {
        /// Accepted; not a byte yet, and not yet libmicrohttpd's.
        case silent
        /// The first request's head.
        case head
        /// Between requests.
        case idle
        case reading
        /// In the handler's `complete`.
        case handling
        /// Waits for its ticket to be answered.
        case suspended
        case answered
        case sending
    }

    struct Reply {
        var phase = Phase.silent
        /// Counts requests, so that a late ticket never answers a later one.
        var generation: UInt64 = 0
        /// How the ticket was used.
        var outcome: ServerHandler.Outcome?
    }

    private enum Mode {
        case receive(maximumBytes: Int)
        case discard(ServerAnswer, readBytes: Int)
    }

    let descriptor: Int32
    /// Whom the connection is from.
    package let peer: PeerAddress
    let reply = Lock(Reply())
    /// Monotonic nanoseconds by which the present phase must have ended.
    let deadline: Atomic<Int64>
    /// libmicrohttpd has taken the connection over and will tell when it closes it.
    let isStarted = Atomic<Bool>(false)

    unowned let server: HTTPServer
    /// Set before the connection is handed to it.
    var worker: ServerWorker?
    var connection: OpaquePointer?
    private(set) var url: UnsafePointer<CChar>?
    private(set) var methodText: UnsafePointer<CChar>?
    private var mode = Mode.receive(maximumBytes: 0)
    private var body: ServerBody?
    /// Whether the handler's `head` was asked, so that it is told of the end.
    private var isKnown = false
    /// The client may still be sending what nobody will read.
    private(set) var wasAnsweredEarly = false
    private(set) var isReset = false
    /// For the handler; forgotten when the request ends.
    package var context: AnyObject?
    /// Bytes that the head announces; nil when it is chunked.
    package private(set) var declaredBytes: Int?
    /// The client waits for a 100 before it sends the body.
    package private(set) var expectsContinue = false

    init(descriptor: Int32, peer: PeerAddress, server: HTTPServer, deadline: Int64) {
        self.descriptor = descriptor
        self.peer = peer
        self.server = server
        self.deadline = Atomic(deadline)
    }

    // MARK: - For handlers

    /// The body so far, followed by `ByteBuffer.padding` readable bytes.
    package var bytes: UnsafeRawBufferPointer { body?.buffer.bytes ?? Self.noBytes }

    nonisolated(unsafe) private static let noBytes: UnsafeRawBufferPointer = {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: ByteBuffer.padding, alignment: 16)
        room.initializeMemory(as: UInt8.self, repeating: 0)
        return UnsafeRawBufferPointer(start: room.baseAddress, count: 0)
    }()

    /// Answers this request from any thread.
    package var ticket: ServerTicket { ServerTicket(request: self, generation: reply.withLock { $0.generation }) }

    // MARK: - Callbacks

    func begin(_ url: UnsafePointer<CChar>, _ method: UnsafePointer<CChar>, _ version: UnsafePointer<CChar>)
        -> MHD_Result
    {
        self.url = url
        methodText = method
        reply.withLock { $0.phase = .reading }
        setDeadline(server.configuration.bodyTimeout)
        if let refusal = readHead(version) {
            wasAnsweredEarly = true
            return queue(server.handler.refusal(refusal))
        }
        if server.isStopping { return refuse(server.handler.refusal(.stopping)) }
        isKnown = true
        switch server.handler.head(self) {
        case .refuse(let answer): return refuse(answer)
        case .receive(let maximumBytes):
            mode = .receive(maximumBytes: maximumBytes)
            if let declaredBytes, declaredBytes > maximumBytes { return refuse(server.handler.refusal(.bodyTooLarge)) }
            return .YES
        }
    }

    /// Reads what decides where the request ends; what is ambiguous is refused, as a proxy in front may read it
    /// otherwise.
    private func readHead(_ version: UnsafePointer<CChar>) -> ServerRefusal? {
        expectsContinue = false
        let isVersion1 = strcmp(version, "HTTP/1.1") == 0
        guard isVersion1 || strcmp(version, "HTTP/1.0") == 0 else { return .badRequest }
        let head = sluice_mhd_look_at_head(connection)
        guard head.content_lengths + head.transfer_encodings <= 1, head.hosts <= 1 else { return .badRequest }
        if head.transfer_encodings > 0 {
            guard isVersion1, header("Transfer-Encoding")?.equalsIgnoringCase("chunked") == true else {
                return .badRequest
            }
            declaredBytes = nil
        } else if head.content_lengths > 0 {
            guard let count = header("Content-Length")?.decimal else { return .badRequest }
            declaredBytes = count
        } else {
            declaredBytes = 0
            if isMethod("POST") || isMethod("PUT") { return .lengthRequired }
        }
        if let expectation = header("Expect"), isVersion1 {
            guard expectation.equalsIgnoringCase("100-continue") else { return .unknownExpectation }
            expectsContinue = true
        }
        return nil
    }

    /// Answers before the body was read: at once when it is long or has not been sent yet, which ends the connection;
    /// else after reading it, which keeps the connection.
    private func refuse(_ answer: ServerAnswer) -> MHD_Result {
        let isLong = declaredBytes.map { $0 > Self.longBodyBytes } ?? false
        if declaredBytes == 0 || expectsContinue || isLong {
            wasAnsweredEarly = declaredBytes != 0
            return queue(answer)
        }
        mode = .discard(answer, readBytes: 0)
        return .YES
    }

    private static let longBodyBytes = 1 << 20

    func proceed(_ piece: UnsafeRawBufferPointer) -> MHD_Result {
        if piece.isEmpty { return finish() }
        switch mode {
        case .discard(let answer, let readBytes):
            guard readBytes + piece.count <= server.configuration.maximumDiscardedBytes else { return .NO }
            mode = .discard(answer, readBytes: readBytes + piece.count)
        case .receive(let maximumBytes):
            if bytes.count + piece.count > maximumBytes {
                discard(server.handler.refusal(.bodyTooLarge), piece.count)
            } else if let answer = server.handler.piece?(self, piece.count) {
                discard(answer, piece.count)
            } else {
                keep(piece, maximumBytes)
            }
        }
        return .YES
    }

    private func discard(_ answer: ServerAnswer, _ count: Int) {
        mode = .discard(answer, readBytes: bytes.count + count)
        dropBody()
    }

    private func keep(_ piece: UnsafeRawBufferPointer, _ maximumBytes: Int) {
        let body = self.body ?? server.bodies.take()
        if self.body == nil {
            self.body = body
            body.buffer.reserve(min(declaredBytes ?? 0, 64 * 1024))
        }
        body.buffer.append(piece)
    }

    /// The body is complete, or the ticket was answered.
    private func finish() -> MHD_Result {
        let late = reply.withLock { reply -> ServerHandler.Outcome? in
            if reply.phase == .answered { return reply.outcome }
            reply.phase = .handling
            return nil
        }
        if let late { return perform(late) }
        if case .discard(let answer, _) = mode { return queue(answer) }
        setDeadline(server.configuration.answerTimeout)
        let outcome = server.handler.complete(self)
        dropBody()
        return perform(outcome)
    }

    private func perform(_ outcome: ServerHandler.Outcome) -> MHD_Result {
        switch outcome {
        case .answer(let answer): return queue(answer)
        case .later: return wait()
        case .reset:
            isReset = true
            var value = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
            return .NO
        }
    }

    /// Suspends the connection, unless its answer came meanwhile.
    private func wait() -> MHD_Result {
        if let outcome = reply.withLock({ $0.phase == .answered ? $0.outcome : nil }) { return perform(outcome) }
        MHD_suspend_connection(connection)
        let isAnswered = reply.withLock { reply in
            if reply.phase == .answered { return true }
            reply.phase = .suspended
            return false
        }
        // From here on the ticket's thread may resume the connection at any time.
        if isAnswered {
            resume()
        } else if server.mustNotWait {
            ticket.answer(server.handler.refusal(.stopping))
        }
        return .YES
    }

    private func queue(_ answer: ServerAnswer) -> MHD_Result {
        reply.withLock { $0.phase = .sending }
        setDeadline(server.configuration.sendTimeout)
        server.handler.answered?(answer.status)
        return MHD_queue_response(connection, UInt32(answer.status), answer.response)
    }

    func end() {
        if isKnown { server.handler.ended?(self) }
        isKnown = false
        context = nil
        dropBody()
        mode = .receive(maximumBytes: 0)
        reply.withLock { reply in
            reply.phase = .idle
            reply.generation += 1
            reply.outcome = nil
        }
        setDeadline(server.configuration.keepAliveTimeout)
    }

    private func dropBody() {
        guard let body else { return }
        self.body = nil
        server.bodies.give(body)
    }

    func setDeadline(_ duration: Duration) {
        deadline.store(server.now + duration.nanoseconds, ordering: .relaxed)
    }

    // MARK: - Other threads

    private func resume() {
        MHD_resume_connection(connection)
        worker?.wake()
    }

    /// Gives the outcome, if this is still the request and it has none.
    func resolve(_ outcome: ServerHandler.Outcome, generation: UInt64) -> Bool {
        let phase = reply.withLock { reply -> Phase? in
            guard reply.generation == generation, reply.phase == .handling || reply.phase == .suspended else {
                return nil
            }
            defer { reply.phase = .answered }
            reply.outcome = outcome
            return reply.phase
        }
        guard let phase else { return false }
        setDeadline(server.configuration.sendTimeout)
        if phase == .suspended { resume() }
        return true
    }
}

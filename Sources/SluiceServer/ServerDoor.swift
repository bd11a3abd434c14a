// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD
internal import Glibc
internal import SluiceSystem
internal import Synchronization

/// The thread that accepts connections, hands those that speak to libmicrohttpd, and ends those that take too long.
///
/// A connection that is silent costs nothing but its descriptor, and one that speaks TLS or something else than a
/// method's letters is closed at its first byte: libmicrohttpd would wait for a line end that never comes.
final class ServerDoor {
    private static let tickMilliseconds: Int32 = 200
    private static let listenerMark: UInt64 = 1 << 32
    private static let wakeMark: UInt64 = 2 << 32
    private static let lingerMark: UInt64 = 3 << 32

    private let server: HTTPServer
    private let listener: ListeningSocket
    private let waker: Waker
    private let poll: Int32
    private var isListening = true
    private var isClosed = false
    private var lastTick: Int64 = 0

    init(server: HTTPServer, listener: ListeningSocket, waker: Waker) {
        self.server = server
        self.listener = listener
        self.waker = waker
        poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(poll >= 0, "no epoll descriptor")
        watch(listener.descriptor, mark: Self.listenerMark)
        watch(waker.descriptor, mark: Self.wakeMark)
    }

    deinit { close(poll) }

    func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let count = epoll_wait(poll, &events, Int32(events.count), Self.tickMilliseconds)
            for event in events.prefix(Int(max(0, count))) {
                switch event.data.u64 {
                case Self.listenerMark: accept()
                case Self.wakeMark: waker.clear()
                case Self.lingerMark...: server.lingering.read(Int32(truncatingIfNeeded: event.data.u64))
                default: hear(Int32(truncatingIfNeeded: event.data.u64))
                }
            }
            for descriptor in server.lingering.takeArrived() {
                watch(descriptor, mark: Self.lingerMark | UInt64(UInt32(bitPattern: descriptor)))
            }
            switch server.doorOrder {
            case .open: listen(!server.connections.isFull)
            case .closed: closeListener()
            case .gone:
                closeListener()
                server.lingering.expire(.max)
                return
            }
            let now = server.now
            if now - lastTick >= Int64(Self.tickMilliseconds) * 1_000_000 {
                lastTick = now
                expire(now)
            }
        }
    }

    private func watch(_ descriptor: Int32, mark: UInt64) {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = mark
        epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event)
    }

    private func forget(_ descriptor: Int32) {
        var event = epoll_event()
        epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, &event)
    }

    private func listen(_ wanted: Bool) {
        if wanted == isListening || isClosed { return }
        isListening = wanted
        if wanted { watch(listener.descriptor, mark: Self.listenerMark) } else { forget(listener.descriptor) }
    }

    private func closeListener() {
        if isClosed { return }
        listen(false)
        isClosed = true
        listener.close()
        closeSilent { _ in true }
    }

    private func accept() {
        for _ in 0..<64 {
            if server.connections.isFull { return listen(false) }
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = withUnsafeMutablePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sluice_accept(listener.descriptor, $0, &length)
                }
            }
            if descriptor < 0 {
                // Out of descriptors or memory: try again at the next tick instead of spinning.
                if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM { listen(false) }
                return
            }
            admit(descriptor, address)
        }
    }

    private func admit(_ descriptor: Int32, _ address: sockaddr_storage) {
        let request = ServerRequest(
            descriptor: descriptor,
            peer: PeerAddress(address),
            server: server,
            deadline: server.now + server.configuration.headTimeout.nanoseconds
        )
        guard server.connections.add(request) else {
            close(descriptor)
            return
        }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        // Most clients speak at once; only the others need to be waited for.
        if !handOver(request) { watch(descriptor, mark: UInt64(UInt32(bitPattern: descriptor))) }
    }

    private func hear(_ descriptor: Int32) {
        guard let request = server.connections.request(descriptor) else { return }
        forget(descriptor)
        if !handOver(request) { watch(descriptor, mark: UInt64(UInt32(bitPattern: descriptor))) }
    }

    /// Looks at the first byte and passes the connection on, or closes it.
    ///
    /// - Returns: false when there is no byte yet.
    private func handOver(_ request: ServerRequest) -> Bool {
        var first: UInt8 = 0
        let count = recv(request.descriptor, &first, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        if count < 0 && (errno == EAGAIN || errno == EINTR) { return false }
        // Line ends may stand before a request.
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20)
        guard count == 1, isLetter || first == 0x0d || first == 0x0a else {
            drop(request)
            return true
        }
        request.reply.withLock { $0.phase = .head }
        server.adopt(request)
        return true
    }

    private func drop(_ request: ServerRequest) {
        server.connections.remove(request)
        close(request.descriptor)
    }

    private func closeSilent(_ condition: (ServerRequest) -> Bool) {
        var silent: [ServerRequest] = []
        server.connections.visit { request in
            if request.reply.withLock({ $0.phase == .silent }) && condition(request) { silent.append(request) }
        }
        for request in silent { drop(request) }
    }

    private func expire(_ now: Int64) {
        server.lingering.expire(now)
        var late: [ServerTicket] = []
        var hasSilent = false
        server.connections.visit { request in
            if request.deadline.load(ordering: .relaxed) > now { return }
            switch request.expire() {
            case .close: hasSilent = true
            case .answer: late.append(request.ticket)
            case .done: request.deadline.store(.max, ordering: .relaxed)
            }
        }
        if hasSilent { closeSilent { $0.deadline.load(ordering: .relaxed) <= now } }
        if late.isEmpty { return }
        let answer = server.handler.refusal(.answerTimeout)
        for ticket in late { ticket.answer(answer) }
    }
}

/// Wakes the door's thread from another one, `eventfd(2)`.
final class Waker: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(descriptor >= 0, "no event descriptor")
    }

    func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    func clear() {
        var value: UInt64 = 0
        _ = read(descriptor, &value, 8)
    }

    deinit { close(descriptor) }
}

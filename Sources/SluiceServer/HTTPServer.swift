// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD
internal import Glibc
package import SluiceSystem
internal import Synchronization

/// An HTTP/1.1 server on libmicrohttpd: a few threads, connections suspended while their answer is worked out, every
/// phase of a connection under a deadline.
///
/// `@unchecked Sendable`: constants, but for `workers`, which are set before the door's thread starts and cleared after
/// all threads have ended.
package final class HTTPServer: @unchecked Sendable {
    enum DoorOrder: Int, AtomicRepresentable {
        case open
        case closed
        case gone
    }

    let configuration: ServerConfiguration
    let handler: ServerHandler
    let connections: ConnectionTable
    let bodies = BodyPool()
    let lingering = LingeringSockets()
    private let clock: SystemClock
    private let waker = Waker()
    private let order = Atomic<DoorOrder>(.open)
    private let stopping = Atomic<Bool>(false)
    private let waiting = Atomic<Bool>(true)
    private let hasStopped = Lock(false)
    private var workers: [ServerWorker] = []
    private var door: SystemThread?

    /// Where it listens, `127.0.0.1:8080` or `[::1]:8080`, with the port that it got.
    package let address: String
    package let port: UInt16

    /// Starts a server.
    ///
    /// - Throws: when the address cannot be listened on.
    package init(
        _ configuration: ServerConfiguration,
        handler: ServerHandler,
        clock: SystemClock = .system
    ) throws(SystemError) {
        let listener = try ListeningSocket(host: configuration.host, port: configuration.port)
        self.configuration = configuration
        self.handler = handler
        self.clock = clock
        connections = ConnectionTable(
            maximum: configuration.maximumConnections,
            maximumPerNetwork: configuration.maximumConnectionsPerAddress
        )
        port = listener.port
        let host = configuration.host
        address = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        Self.raiseDescriptorLimit(configuration.maximumConnections)
        workers = try startWorkers()
        door = SystemThread(name: "http door") { [self] in
            ServerDoor(server: self, listener: listener, waker: waker).run()
        }
    }

    /// Connections that are open.
    package var connectionCount: Int { connections.count }

    // MARK: - Stopping

    /// Closes the address and refuses new requests with 503; what has begun goes on.
    package func stopAccepting() {
        stopping.store(true, ordering: .sequentiallyConsistent)
        order.store(.closed, ordering: .sequentiallyConsistent)
        waker.wake()
    }

    /// Ends the server: waits for requests under way, answers the rest with 503, then closes everything.
    ///
    /// - Parameter grace: how long requests under way may still take; the call takes little longer.
    package func stop(grace: Duration = .seconds(5)) {
        hasStopped.withLock { hasStopped in
            if hasStopped { return }
            hasStopped = true
            stopAccepting()
            waitForQuiet(until: now + grace.nanoseconds)
            // libmicrohttpd ends the process when a suspended connection is left at its stop: none may begin to wait
            // any more, and those that do are answered. Either side sees the other's store.
            waiting.store(false, ordering: .sequentiallyConsistent)
            answerAll()
            waitForQuiet(until: now + Duration.seconds(1).nanoseconds)
            order.store(.gone, ordering: .sequentiallyConsistent)
            waker.wake()
            door?.join()
            connections.visit { $0.shutDown() }
            for worker in workers { worker.stop() }
            workers = []
        }
    }

    private func waitForQuiet(until limit: Int64) {
        while isBusy && now < limit { usleep(2000) }
    }

    private var isBusy: Bool {
        var isBusy = false
        connections.visit { if $0.isBusy { isBusy = true } }
        return isBusy
    }

    private func answerAll() {
        var tickets: [ServerTicket] = []
        connections.visit { tickets.append($0.ticket) }
        let answer = handler.refusal(.stopping)
        for ticket in tickets { ticket.answer(answer) }
    }

    // MARK: - For requests and the door

    var now: Int64 { clock.monotonicNanoseconds() }
    var isStopping: Bool { stopping.load(ordering: .sequentiallyConsistent) }
    var mustNotWait: Bool { !waiting.load(ordering: .sequentiallyConsistent) }
    var doorOrder: DoorOrder { order.load(ordering: .sequentiallyConsistent) }

    /// Gives a connection to one of the workers.
    func adopt(_ request: ServerRequest) { workers[Int(request.descriptor) % workers.count].adopt(request) }

    func began(_ connection: OpaquePointer) -> UnsafeMutableRawPointer? {
        guard let request = connections.request(sluice_mhd_descriptor(connection)) else { return nil }
        request.connection = connection
        request.isStarted.store(true, ordering: .relaxed)
        return Unmanaged.passRetained(request).toOpaque()
    }

    func ended(_ request: ServerRequest) {
        if request.hasUnreadInput && lingering.add(request.descriptor, now: now) { waker.wake() }
        connections.remove(request)
        if connections.count == configuration.maximumConnections - 1 { waker.wake() }
    }

    // MARK: - Starting

    private func startWorkers() throws(SystemError) -> [ServerWorker] {
        var workers: [ServerWorker] = []
        for _ in 0..<max(1, configuration.threads) {
            let daemon = sluice_mhd_start(
                // The door keeps the limit; here it only must never be the smaller one in any thread.
                UInt32(configuration.maximumConnections) + 64,
                max(2048, configuration.connectionBytes),
                4096,
                handleRequest,
                requestEnded,
                connectionChanged,
                Unmanaged.passUnretained(self).toOpaque()
            )
            guard let daemon else {
                let error = SystemError(call: "MHD_start_daemon", path: address, errno: errno)
                for worker in workers { worker.stop() }
                throw error
            }
            workers.append(ServerWorker(daemon))
        }
        return workers
    }

    private static func raiseDescriptorLimit(_ connections: Int) {
        var limit = rlimit()
        let wanted = rlim_t(connections + 256)
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < wanted else {
            return
        }
        limit.rlim_cur = min(wanted, limit.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

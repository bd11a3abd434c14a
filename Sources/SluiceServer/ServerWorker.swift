// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD
internal import Glibc
internal import SluiceSystem
internal import Synchronization

/// One libmicrohttpd daemon with its connections, and the thread that runs it.
///
/// The thread is ours, and libmicrohttpd never waits on it, because version 0.9.75 may wait for ever: when exactly as
/// many sockets are ready as it asks epoll(7) for at once, 128, it asks again before it looks at them, and as patiently
/// as the first time. All connections of the thread then stand still until something happens on one of them.
///
/// `@unchecked Sendable`: a daemon without threads of its own is touched by this thread alone, except for resuming
/// connections, which libmicrohttpd allows from any; `thread` is set in `init` and cleared after it has ended.
final class ServerWorker: @unchecked Sendable {
    private static let longestWaitMilliseconds: UInt64 = 60_000

    private let daemon: OpaquePointer
    private let pollDescriptor: Int32
    private let waker = Waker()
    /// Whether the waker was told already, so that a group of answers costs one call.
    private let isAwake = Atomic<Bool>(false)
    private let isEnding = Atomic<Bool>(false)
    private let arrived = Lock<[ServerRequest]>([])
    private var thread: SystemThread?

    init(_ daemon: OpaquePointer) {
        self.daemon = daemon
        pollDescriptor = sluice_mhd_poll_descriptor(daemon)
        precondition(pollDescriptor >= 0, "libmicrohttpd has no epoll")
        thread = SystemThread(name: "http worker") { [self] in run() }
    }

    private func run() {
        var targets = [pollfd(), pollfd()]
        for (index, descriptor) in [pollDescriptor, waker.descriptor].enumerated() {
            targets[index].fd = descriptor
            targets[index].events = Int16(POLLIN)
        }
        while !isEnding.load(ordering: .sequentiallyConsistent) {
            poll(&targets, 2, waitMilliseconds)
            if targets[1].revents != 0 {
                waker.clear()
                isAwake.store(false, ordering: .sequentiallyConsistent)
                addArrived()
            }
            // It fails when the kernel is out of memory for epoll; the next turn may do better.
            if MHD_run(daemon) != .YES { usleep(10_000) }
        }
    }

    /// How long nothing has to be done, as far as libmicrohttpd knows.
    private var waitMilliseconds: Int32 {
        var limit: UInt64 = 0
        guard MHD_get_timeout(daemon, &limit) == .YES else { return Int32(Self.longestWaitMilliseconds) }
        return Int32(min(limit, Self.longestWaitMilliseconds))
    }

    private func addArrived() {
        let requests = arrived.withLock { arrived in
            let taken = arrived
            arrived = []
            return taken
        }
        for request in requests where !add(request) { request.server.connections.remove(request) }
    }

    /// Gives a connection to libmicrohttpd.
    ///
    /// - Returns: false when it refused and closed it.
    private func add(_ request: ServerRequest) -> Bool {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getpeername(request.descriptor, address, &length)
                return MHD_add_connection(daemon, request.descriptor, address, length) == .YES
            }
        }
    }

    /// Takes a connection over, from any thread.
    func adopt(_ request: ServerRequest) {
        request.worker = self
        arrived.withLock { $0.append(request) }
        wake()
    }

    /// Makes the thread look, from any thread: a daemon without threads of its own does not see that a connection was
    /// resumed.
    func wake() {
        if !isAwake.exchange(true, ordering: .sequentiallyConsistent) { waker.wake() }
    }

    /// Ends the thread and closes all connections, none of which may be suspended.
    func stop() {
        isEnding.store(true, ordering: .sequentiallyConsistent)
        wake()
        thread?.join()
        thread = nil
        addArrived()
        MHD_stop_daemon(daemon)
    }
}

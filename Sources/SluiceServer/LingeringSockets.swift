// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// Connections that were answered before everything they send was read.
///
/// Closing a socket with unread input resets it, and the client loses the answer it was about to read. So such a socket
/// lives on as a duplicate: its sending side is closed, what still comes is read and dropped, until the client ends or
/// the time is over.
final class LingeringSockets: Sendable {
    private static let maximumCount = 512
    private static let maximumBytes = 64 << 20
    private static let totalNanoseconds: Int64 = 10_000_000_000

    private struct Socket {
        var deadline: Int64
        var bytes = 0
    }

    private struct State {
        var arrived: [Int32] = []
        var sockets: [Int32: Socket] = [:]
    }

    private let state = Lock(State())

    /// Takes over what `descriptor` refers to, which its owner is about to close.
    ///
    /// - Returns: whether the door has something new to watch.
    func add(_ descriptor: Int32, now: Int64) -> Bool {
        state.withLock { state in
            if state.sockets.count >= Self.maximumCount { return false }
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
            if copy < 0 { return false }
            shutdown(copy, Int32(SHUT_WR))
            state.sockets[copy] = Socket(deadline: now + Self.totalNanoseconds)
            state.arrived.append(copy)
            return true
        }
    }

    /// Descriptors to watch from now on.
    func takeArrived() -> [Int32] {
        state.withLock { state in
            defer { state.arrived = [] }
            return state.arrived
        }
    }

    /// Drops what has come.
    func read(_ descriptor: Int32) {
        // The kernel tells of a closed descriptor as long as its connection has another one, libmicrohttpd's; meanwhile the
        // number may be a new connection's, whose bytes are not ours.
        guard state.withLock({ $0.sockets[descriptor] != nil }) else { return }
        let count = withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 16) { buffer in
            recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        }
        if count < 0 && (errno == EAGAIN || errno == EINTR) { return }
        state.withLock { state in
            guard count > 0, var socket = state.sockets[descriptor], socket.bytes <= Self.maximumBytes else {
                if state.sockets.removeValue(forKey: descriptor) != nil { close(descriptor) }
                return
            }
            socket.bytes += count
            state.sockets[descriptor] = socket
        }
    }

    /// Closes those whose time is over by `now`.
    func expire(_ now: Int64) {
        state.withLock { state in
            for (descriptor, socket) in state.sockets where socket.deadline <= now {
                state.sockets[descriptor] = nil
                state.arrived.removeAll { $0 == descriptor }
                close(descriptor)
            }
        }
    }
}

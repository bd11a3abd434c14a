// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization

/// A TCP socket on 127.0.0.1 for tests; closed with its last reference.
package final class LoopbackSocket: Sendable {
    package let descriptor: Int32
    private let isOpen = Atomic<Bool>(true)

    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    /// Closes it before its last reference is gone.
    package func close() {
        if isOpen.exchange(false, ordering: .relaxed) { _ = Glibc.close(descriptor) }
    }

    /// Binds to a free port; without a `backlog` it does not listen, so that connecting is refused.
    package static func bound(backlog: Int32?) -> LoopbackSocket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        precondition(descriptor >= 0, "no socket")
        var address = loopback(port: 0)
        let code = withSockaddr(&address) { bind(descriptor, $0, $1) }
        precondition(code == 0, "no free port")
        if let backlog { listen(descriptor, backlog) }
        return LoopbackSocket(adopting: descriptor)
    }

    /// Connects to a server on this machine; nil when that fails.
    ///
    /// * `source`: the last number of the address 127.0.0.x that the connection comes from; nil leaves it to the system.
    /// * `receiveBytes`: the size of the receive buffer.
    package static func connected(
        to port: UInt16,
        waits: Bool = true,
        from source: UInt8? = nil,
        receiveBytes: Int32? = nil
    ) -> LoopbackSocket? {
        let flags = Int32(SOCK_CLOEXEC.rawValue) | (waits ? 0 : Int32(SOCK_NONBLOCK.rawValue))
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | flags, 0)
        precondition(descriptor >= 0, "no socket")
        let made = LoopbackSocket(adopting: descriptor)
        if var receiveBytes {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBytes, socklen_t(MemoryLayout<Int32>.size))
        }
        if let source {
            var own = loopback(port: 0)
            own.sin_addr.s_addr = (UInt32(0x7f00_0000) | UInt32(source)).bigEndian
            if withSockaddr(&own, { bind(descriptor, $0, $1) }) != 0 { return nil }
        }
        var address = loopback(port: port)
        let code = withSockaddr(&address) { connect(descriptor, $0, $1) }
        return code == 0 || (!waits && errno == EINPROGRESS) ? made : nil
    }

    package var port: UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { address in
            _ = address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    package func accepted() -> LoopbackSocket? {
        let descriptor = accept(descriptor, nil, nil)
        if descriptor < 0 { return nil }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return LoopbackSocket(adopting: descriptor)
    }

    /// Sends all bytes; false when the other side is gone.
    @discardableResult
    package func send(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        return bytes.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = Glibc.send(
                    descriptor,
                    bytes.baseAddress?.advanced(by: sent),
                    bytes.count - sent,
                    Int32(MSG_NOSIGNAL)
                )
                if count < 0 { return false }
                sent += count
            }
            return true
        }
    }

    /// The next bytes, at most `limit`; empty at the end or after an error.
    package func receive(_ limit: Int = 65536) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = max(0, recv(descriptor, buffer.baseAddress, limit, 0))
        }
    }

    /// Everything until the other side ends, or breaks off.
    package func receiveAll() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let piece = receive()
            if piece.isEmpty { return all }
            all += piece
        }
    }

    /// Makes a later `receive` give up after so long.
    package func limitReceiving(seconds: Int) { limitReceiving(milliseconds: seconds * 1000) }

    package func limitReceiving(milliseconds: Int) {
        var value = timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &value, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Makes a later `send` give up after so long.
    package func limitSending(milliseconds: Int) {
        var value = timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &value, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Ends both directions and wakes whoever reads or accepts.
    package func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Ends sending; the other side reads to its end.
    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Makes closing a reset instead of an orderly end.
    package func resetWhenClosed() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }
}

private func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
}

private func withSockaddr(_ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32
{
    withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}

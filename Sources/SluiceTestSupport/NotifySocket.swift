// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// What systemd is to a program that notifies it: a datagram socket.
package final class NotifySocket {
    private let descriptor: Int32

    /// Binds a socket; nil when that fails.
    ///
    /// - Parameter name: a path, or the name of an abstract socket that begins with `@`.
    package init?(name: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        if isAbstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { return nil }
        // A test that waits for a word that never comes fails instead of standing still.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// The next datagram; empty when none comes in 30 seconds.
    package func receive() -> String {
        var bytes = [UInt8](repeating: 0, count: 1000)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    /// The next datagram that is neither a sign of life nor a sentence for people.
    package func receiveState() -> String {
        while true {
            let text = receive()
            if text != "WATCHDOG=1" && !text.hasPrefix("STATUS=") { return text }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem

/// TCP on this machine.
enum Loopback {
    /// A connection to a port of 127.0.0.1.
    static func connected(_ port: UInt16) throws(SystemError) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, call(descriptor, port, connect) == 0 else {
            let code = errno
            if descriptor >= 0 { close(descriptor) }
            throw SystemError(call: "connect", path: "127.0.0.1:\(port)", errno: code)
        }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    /// A port that nobody listens on, below those that outgoing connections are given: a program that listens there can
    /// be killed and find it free again.
    static func freePort() throws(SystemError) -> UInt16 {
        for _ in 0..<200 {
            let port = UInt16.random(in: 20_000..<32_000)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            if call(descriptor, port, bind) == 0 { return port }
        }
        throw SystemError(call: "bind", path: "127.0.0.1", errno: EADDRINUSE)
    }

    private static func call(
        _ descriptor: Int32,
        _ port: UInt16,
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Closes a connection so that the other side sees a reset.
    static func reset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD
internal import Glibc
internal import SluiceSystem

/// A TCP socket that listens on a numeric address.
final class ListeningSocket: Sendable {
    let descriptor: Int32
    /// The port that it got.
    let port: UInt16
    private let isOpen = Lock(true)

    init(host: String, port: UInt16) throws(SystemError) {
        let name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let address = found else {
            throw SystemError(call: "getaddrinfo", path: name, errno: EINVAL)
        }
        defer { freeaddrinfo(found) }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.pointee.ai_family, type, 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket", path: name, errno: errno) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        for (call, step) in [("bind", bindStep), ("listen", listenStep)] {
            if step(descriptor, address.pointee) == 0 { continue }
            let code = errno
            _ = Glibc.close(descriptor)
            throw SystemError(call: call, path: name, errno: code)
        }
        self.descriptor = descriptor
        self.port = Self.port(of: descriptor)
    }

    func close() {
        isOpen.withLock { isOpen in
            if isOpen { _ = Glibc.close(descriptor) }
            isOpen = false
        }
    }

    deinit { close() }

    private static func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        // Both families have the port in the same place.
        return withUnsafeBytes(of: address) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    }
}

private func bindStep(_ descriptor: Int32, _ address: addrinfo) -> Int32 {
    bind(descriptor, address.ai_addr, address.ai_addrlen)
}

private func listenStep(_ descriptor: Int32, _ address: addrinfo) -> Int32 { listen(descriptor, 4096) }

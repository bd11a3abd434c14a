// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// One question and its answer over a TCP connection.
package enum TCPExchange {
    /// Connects, sends bytes, and reads until the other side closes.
    ///
    /// - Parameters:
    ///   - host: a numeric address without brackets.
    ///   - port: its port.
    ///   - request: what is sent.
    ///   - limitBytes: what comes after so many bytes is not read.
    ///   - seconds: the most time for each step.
    /// - Returns: what came.
    /// - Throws: when nobody listens there, or not in time.
    package static func run(
        host: String,
        port: UInt16,
        sending request: [UInt8],
        limitBytes: Int,
        seconds: Int
    ) throws(SystemError) -> [UInt8] {
        let name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let address = found else {
            throw SystemError(call: "getaddrinfo", path: name, errno: EINVAL)
        }
        defer { freeaddrinfo(found) }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.pointee.ai_family, type, 0)
        guard descriptor >= 0 else { throw SystemError(call: "socket", path: name, errno: errno) }
        defer { close(descriptor) }
        // The limit for sending is connect's too, see socket(7).
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 else {
            throw SystemError(call: "connect", path: name, errno: errno)
        }
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw SystemError(call: "send", path: name, errno: errno)
        }
        var answer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while answer.count < limitBytes {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count == 0 { break }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw SystemError(call: "recv", path: name, errno: errno) }
            answer += piece.prefix(count)
        }
        return answer
    }
}

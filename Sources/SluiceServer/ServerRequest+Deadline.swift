// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD
internal import Glibc
internal import SluiceSystem
internal import Synchronization

extension ServerRequest {
    /// What to do with a connection that ran out of time.
    enum Expiry {
        /// The door still holds it: it closes the descriptor.
        case close
        /// Its ticket is answered 503.
        case answer
        /// The socket was shut down; libmicrohttpd cleans up.
        case done
    }

    private static let timeoutAnswer = Array(
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".utf8
    )

    /// Ends what has lasted too long; under the table's lock.
    func expire() -> Expiry {
        let phase = reply.withLock { reply in
            // The server's thread cannot begin an answer meanwhile, as that takes the same lock.
            if reply.phase == .reading || (reply.phase == .head && isStarted.load(ordering: .relaxed)) {
                _ = Self.timeoutAnswer.withUnsafeBytes { bytes in
                    send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                }
                shutDown()
                server.handler.answered?(408)
            }
            return reply.phase
        }
        switch phase {
        case .silent: return .close
        case .handling, .suspended: return .answer
        case .reading, .head: return .done
        case .idle, .answered, .sending:
            shutDown()
            return .done
        }
    }

    /// Whether a request is under way.
    var isBusy: Bool {
        reply.withLock { reply in
            switch reply.phase {
            case .silent, .head, .idle: false
            case .reading, .handling, .suspended, .answered, .sending: true
            }
        }
    }

    /// Whether a close would reset the connection under the answer.
    var hasUnreadInput: Bool {
        if isReset { return false }
        var byte: UInt8 = 0
        return wasAnsweredEarly || recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

// SPDX-License-Identifier: Apache-2.0

/// How one request ended.
package struct HTTPCompletion: Sendable {
    package enum Result: Sendable {
        case answer(HTTPAnswer)
        case failure(HTTPFailure)
    }

    /// What the sender gave to know its request by.
    package var tag: Int
    package var result: Result
    /// From `send` to the end.
    package var nanoseconds: Int64

    package init(tag: Int, result: Result, nanoseconds: Int64 = 0) {
        self.tag = tag
        self.result = result
        self.nanoseconds = nanoseconds
    }
}

/// An answer whose head and body arrived as a whole, up to the cap on bodies; one that broke off is an `HTTPFailure`.
package struct HTTPAnswer: Sendable {
    package var status: Int
    /// The field's value, whatever the case of its name; the last one when there are several.
    package var retryAfter: String?
    package var contentType: String?
    /// A coding that was not asked for and is still on `body`.
    package var contentCoding: String?
    /// At most `maximumAnswerBytes` of the body.
    package var body: [UInt8]
    /// The body was longer than the cap: the rest was not read and the connection was closed.
    package var bodyWasCut: Bool

    package init(
        status: Int,
        retryAfter: String? = nil,
        contentType: String? = nil,
        contentCoding: String? = nil,
        body: [UInt8] = [],
        bodyWasCut: Bool = false
    ) {
        self.status = status
        self.retryAfter = retryAfter
        self.contentType = contentType
        self.contentCoding = contentCoding
        self.body = body
        self.bodyWasCut = bodyWasCut
    }
}

/// Why there is no answer; whether the request was taken is unknown unless `wasSent` is false.
package struct HTTPFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The raw value is the metric label.
    package enum Kind: String, Sendable, CaseIterable {
        /// The name has no address, or no name server answered.
        case resolve
        /// No connection: refused, unreachable.
        case connect
        /// The proxy wants credentials, or others: 407.
        case proxyAuthentication = "proxy_authentication"
        /// The proxy answered, but did not connect.
        case proxy
        /// The certificate is not to be trusted, or there are no roots to judge it by.
        case tlsVerification = "tls_verification"
        /// TLS broke off for another reason.
        case tlsHandshake = "tls_handshake"
        /// Not connected (name, TCP, TLS) in time.
        case connectTimeout = "connect_timeout"
        /// Connected, then nothing moved for too long.
        case idleTimeout = "idle_timeout"
        /// Not finished within the total limit, whatever trickled.
        case totalTimeout = "total_timeout"
        /// The connection ended before the answer did.
        case cut
        /// The answer was no HTTP, or its coding was broken.
        case protocolViolation = "protocol"
        /// The request itself cannot be sent, such as to a URL of another scheme.
        case invalidRequest = "invalid_request"
        case cancelled
    }

    package var kind: Kind
    /// Whether a part of the request may have reached the server.
    package var wasSent: Bool
    /// One line for the operator: names hosts and ports, never a path, a header or a body.
    package var message: String

    package init(kind: Kind, wasSent: Bool, message: String) {
        self.kind = kind
        self.wasSent = wasSent
        self.message = message
    }

    package var description: String { message }
}

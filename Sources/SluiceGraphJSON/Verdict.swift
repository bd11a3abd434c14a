// SPDX-License-Identifier: Apache-2.0

/// What is to be done after a request has ended.
package enum Disposition: Hashable, Sendable {
    /// The destination took every event of the request.
    case delivered
    /// Whether it was taken is unknown or it was not: the same request again, later.
    ///
    /// `after` is the destination's wish, at most an hour; `closesGate` says that no other request has a better chance.
    case retry(after: Duration?, closesGate: Bool)
    /// Too large: halves of what was sent.
    case split
    /// The destination does not want one of the events: halves until it stands alone.
    case rejected
    /// The fault is in the configuration or the road, in no event: hold everything and probe.
    case halt
}

/// How a request ended, judged: what to do, and how to tell people.
package struct Verdict: Hashable, Sendable {
    /// The kind of end; the raw value is the metric label.
    package enum Cause: String, Sendable, CaseIterable {
        case delivered
        case rateLimited = "rate_limited"
        case timeoutStatus = "timeout_status"
        case serverError = "server_error"
        case payloadTooLarge = "payload_too_large"
        case rejected
        /// A success status whose body says that something was not taken.
        case rejectedInBody = "rejected_in_body"
        /// A success status with a body that says nothing that can be believed.
        case unreadableBody = "unreadable_body"
        case unexpectedStatus = "unexpected_status"
        /// A page for people came where the API's answer should be.
        case htmlPage = "html_page"
        case unauthorized
        case redirect
        /// Any other 4xx: path, method or media type are not what the server expects.
        case wrongRequest = "wrong_request"
        case tlsVerification = "tls_verification"
        case connect
        case timeout
        case cut
        case invalidRequest = "invalid_request"
        case cancelled
    }

    package var disposition: Disposition
    package var cause: Cause
    /// The answer's status, when there was an answer.
    package var status: Int?
    /// One line about the end that names no event, key or body: fit for logs.
    package var summary: String
    /// The answer's body, at most 200 bytes, made harmless, the key masked; may quote an event: for quarantine only.
    package var excerpt: String

    package init(
        _ disposition: Disposition,
        _ cause: Cause,
        status: Int? = nil,
        summary: String,
        excerpt: String = ""
    ) {
        self.disposition = disposition
        self.cause = cause
        self.status = status
        self.summary = summary
        self.excerpt = excerpt
    }
}

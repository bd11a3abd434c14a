// SPDX-License-Identifier: Apache-2.0

/// What a server does with requests.
///
/// All but `refusal` are called on the server's threads, for one request one after the other, and must not wait. The
/// request object is only valid during such a call; what answers later keeps its `ticket`.
package struct ServerHandler: Sendable {
    package enum Admission: Sendable {
        /// Reads the body up to so many bytes; more is refused.
        case receive(maximumBytes: Int)
        /// Answers; the body is not kept.
        case refuse(ServerAnswer)
    }

    package enum Outcome: Sendable {
        case answer(ServerAnswer)
        /// The request's ticket will be answered; until then no thread is held.
        case later
        /// Resets the connection without an answer, as a crash of the server would.
        case reset
    }

    /// Decides on the head, before any of the body is read.
    package var head: @Sendable (ServerRequest) -> Admission
    /// Told of each piece before it is kept: an answer refuses the request and drops its body.
    package var piece: (@Sendable (_ request: ServerRequest, _ byteCount: Int) -> ServerAnswer?)?
    /// The request is complete; afterwards its body is dropped.
    package var complete: @Sendable (ServerRequest) -> Outcome
    /// The request has ended, answered or not; called once for each request that `head` saw.
    package var ended: (@Sendable (ServerRequest) -> Void)?
    /// Told the status of every answer that is sent, the server's own included; called on any of its threads.
    package var answered: (@Sendable (_ status: Int) -> Void)?
    /// How the server's own refusals look.
    package var refusal: @Sendable (ServerRefusal) -> ServerAnswer

    package init(
        head: @escaping @Sendable (ServerRequest) -> Admission,
        complete: @escaping @Sendable (ServerRequest) -> Outcome,
        refusal: @escaping @Sendable (ServerRefusal) -> ServerAnswer = { $0.plainAnswer }
    ) {
        self.head = head
        self.complete = complete
        self.refusal = refusal
    }
}

/// Requests that the server refuses by itself.
package enum ServerRefusal: Sendable, CaseIterable {
    /// An unknown version, or a head that leaves open where the request ends or whom it is for.
    case badRequest
    /// A POST or PUT that does not say how long it is.
    case lengthRequired
    case bodyTooLarge
    case unknownExpectation
    /// The server is about to end.
    case stopping
    /// No answer came in time.
    case answerTimeout

    package var status: Int {
        switch self {
        case .badRequest: 400
        case .lengthRequired: 411
        case .bodyTooLarge: 413
        case .unknownExpectation: 417
        case .stopping, .answerTimeout: 503
        }
    }

    /// A stable name for clients.
    package var code: String {
        switch self {
        case .badRequest: "bad_request"
        case .lengthRequired: "length_required"
        case .bodyTooLarge: "body_too_large"
        case .unknownExpectation: "unknown_expectation"
        case .stopping: "stopping"
        case .answerTimeout: "timeout"
        }
    }

    /// Whether the connection ends with the answer.
    package var closes: Bool { self != .answerTimeout }

    package var plainAnswer: ServerAnswer {
        ServerAnswer(
            status: status,
            contentType: "application/json",
            body: "{\"error\":\"\(code)\"}",
            headers: status == 503 ? [("Retry-After", "1")] : [],
            closes: closes
        )
    }
}

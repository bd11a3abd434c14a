// SPDX-License-Identifier: Apache-2.0
package import SluiceHTTP
package import SluiceSystem

/// Judges how requests to GraphJSON ended; one per thread.
///
/// | end | disposition |
/// |---|---|
/// | 2xx | delivered, unless its body says otherwise: see `AnswerBody` |
/// | 408, 425, 429, 5xx, unknown statuses; no answer, or one that broke off | retry |
/// | 413 | split |
/// | 400, 409, 422 | rejected |
/// | every other 3xx and 4xx; a certificate that is not trusted; 407 of a proxy | halt |
///
/// The gate closes for 429, for any retry with a usable Retry-After, and when no connection came about. Of the body of
/// an answer that is no success nothing is believed, in particular no lists of indexes: which event is meant is found
/// by halving.
package final class AnswerClassifier {
    private let body: AnswerBody
    private let clock: SystemClock
    /// Never shown in an excerpt; follows a change of the key file.
    package var apiKey: String

    package init(apiKey: String, clock: SystemClock = .system) {
        self.apiKey = apiKey
        self.clock = clock
        body = AnswerBody()
    }

    package func classify(_ completion: HTTPCompletion) -> Verdict {
        switch completion.result {
        case .answer(let answer): classify(answer)
        case .failure(let failure): classify(failure)
        }
    }

    private func classify(_ answer: HTTPAnswer) -> Verdict {
        var verdict = answer.status / 100 == 2 ? success(answer) : refusal(answer)
        verdict.status = answer.status
        if verdict.disposition != .delivered { verdict.excerpt = BodyExcerpt.text(answer.body, hiding: apiKey) }
        return verdict
    }

    private func success(_ answer: HTTPAnswer) -> Verdict {
        let status = answer.status
        switch body.judge(answer) {
        case .plain: return Verdict(.delivered, .delivered, summary: "HTTP \(status)")
        case .refuses:
            return Verdict(.rejected, .rejectedInBody, summary: "HTTP \(status) whose body reports an error")
        case .unreadable(let why):
            return Verdict(retry(answer), .unreadableBody, summary: "HTTP \(status) \(why): the outcome is unknown")
        case .page:
            return Verdict(.halt, .htmlPage, summary: "HTTP \(status) with an HTML page: something else answered")
        }
    }

    private func refusal(_ answer: HTTPAnswer) -> Verdict {
        let status = answer.status
        let text = "HTTP \(status)"
        switch status {
        case 429: return Verdict(retry(answer), .rateLimited, summary: "\(text): too many requests")
        case 408, 425: return Verdict(retry(answer), .timeoutStatus, summary: text)
        case 500...599: return Verdict(retry(answer), .serverError, summary: "\(text): the server failed")
        case 413: return Verdict(.split, .payloadTooLarge, summary: "\(text): the request is too large")
        case 400, 409, 422: return Verdict(.rejected, .rejected, summary: "\(text): the request was rejected")
        case 401, 403: return Verdict(.halt, .unauthorized, summary: "\(text): the API key is not accepted")
        case 407: return Verdict(.halt, .unauthorized, summary: "\(text): the proxy wants credentials")
        case 300...399:
            return Verdict(
                .halt,
                .redirect,
                summary: "\(text): graphjson.url leads to a redirect, which is not followed"
            )
        case 400...499:
            return Verdict(
                .halt,
                .wrongRequest,
                summary: "\(text): graphjson.url or graphjson.bulk does not fit the server"
            )
        default: return Verdict(retry(answer), .unexpectedStatus, summary: "\(text) is no known status")
        }
    }

    private func retry(_ answer: HTTPAnswer) -> Disposition {
        let after = answer.retryAfter.flatMap { RetryAfter.duration($0, now: clock.wallSeconds) }
        return .retry(after: after, closesGate: answer.status == 429 || after != nil)
    }

    private func classify(_ failure: HTTPFailure) -> Verdict {
        let stays = Disposition.retry(after: nil, closesGate: false)
        let closes = Disposition.retry(after: nil, closesGate: true)
        let (disposition, cause): (Disposition, Verdict.Cause) =
            switch failure.kind {
            case .resolve, .connect, .connectTimeout, .tlsHandshake, .proxy: (closes, .connect)
            case .idleTimeout, .totalTimeout: (stays, .timeout)
            case .cut, .protocolViolation: (stays, .cut)
            case .cancelled: (stays, .cancelled)
            case .tlsVerification: (.halt, .tlsVerification)
            case .proxyAuthentication: (.halt, .unauthorized)
            case .invalidRequest: (.halt, .invalidRequest)
            }
        return Verdict(disposition, cause, summary: failure.message)
    }
}

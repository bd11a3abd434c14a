// SPDX-License-Identifier: Apache-2.0
internal import Foundation

/// What came back for a request, as far as it matters.
package struct EndpointAnswer: Sendable {
    package var status: Int
    package var contentType: String?
    package var retryAfter: String?
    package var date: String?
    package var body: [UInt8]

    package init(
        status: Int,
        contentType: String? = nil,
        retryAfter: String? = nil,
        date: String? = nil,
        body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.date = date
        self.body = body
    }

    /// What the answer means for the events of the request.
    ///
    /// - Parameter now: Unix seconds of the device, for a Retry-After that is a date in an answer without `Date`.
    /// - Returns: a verdict; an answer that is not the endpoint's own is a failure whatever its status, except that
    ///   proxies may ask for patience (408, 425, 429, 503) and refuse a size (413).
    package func verdict(now: Int) -> AnswerVerdict {
        // Whatever cannot be decoded is not the endpoint's.
        let own = isJSON ? try? JSONDecoder().decode(OwnBody.self, from: Data(body)) : nil
        switch status {
        case 200:
            guard let own, let accepted = own.accepted, let rejected = own.rejected else { return .failed }
            return .processed(accepted: accepted, rejected: rejected.map(\.rejection))
        case 413: return .tooLarge(isFinal: own?.code != nil)
        case 408, 425, 429, 503:
            let clock = date.flatMap { HTTPDate.seconds($0) } ?? now
            return .later(seconds: retryAfter.flatMap { RetryAfter.seconds($0, now: clock) })
        case 500...: return .serverFailed
        default: break
        }
        guard let code = own?.code else { return .failed }
        switch status {
        case 400, 422: return .invalid(code: code)
        case 401, 403: return .unauthorized
        case 404, 405, 415: return .misdirected
        default: return .failed
        }
    }

    private var isJSON: Bool {
        let type = contentType?.split(separator: ";").first ?? ""
        return type.lowercased().filter { $0 != " " } == "application/json"
    }
}

/// What an answer means for the events of its request.
package enum AnswerVerdict: Hashable, Sendable {
    /// An event that was refused for good.
    package struct Rejection: Hashable, Sendable {
        /// The event's place in the request.
        package var index: Int
        /// Its id; nil when the endpoint found none.
        package var eventID: String?
        package var code: String

        package init(index: Int, eventID: String?, code: String) {
            self.index = index
            self.eventID = eventID
            self.code = code
        }
    }

    /// 200 with a verdict for each event.
    case processed(accepted: [String], rejected: [Rejection])
    /// 400 or 422 for the request as a whole: one of its events is to blame, and halving finds it.
    case invalid(code: String)
    /// 413; final if the endpoint says so, while a proxy's limit may change.
    case tooLarge(isFinal: Bool)
    /// 401 or 403: the token, if there was one, else everybody waits.
    case unauthorized
    /// 404, 405 or 415: this address takes no events.
    case misdirected
    /// 408, 425, 429 or 503, with the wish of Retry-After.
    case later(seconds: Int?)
    /// Any other 5xx.
    case serverFailed
    /// No answer, or one that is not the endpoint's: a redirect, a portal's page, a cut body.
    case failed
}

/// The members of the endpoint's answers; `request_id` and either verdicts or a code are what marks them.
private struct OwnBody: Decodable {
    struct Refused: Decodable {
        var index: Int
        var eventID: String?
        var code: String

        var rejection: AnswerVerdict.Rejection {
            AnswerVerdict.Rejection(index: index, eventID: eventID, code: code)
        }

        private enum CodingKeys: String, CodingKey {
            case index
            case eventID = "event_id"
            case code
        }
    }

    var requestID: String
    var accepted: [String]?
    var rejected: [Refused]?
    var code: String?

    private enum CodingKeys: String, CodingKey {
        case requestID = "request_id"
        case accepted
        case rejected
        case code
    }
}

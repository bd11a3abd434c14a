// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceServer
internal import SluiceSystem
internal import Synchronization

/// Names requests: unique in this process, short enough to need no memory of its own.
final class RequestNames: Sendable {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    private let prefix = UInt64.random(in: 0..<1 << 30)
    private let next = Atomic<UInt64>(0)

    /// Six digits of the process and nine that count.
    func make() -> String {
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return String(unsafeUninitializedCapacity: 15) { text in
            var rest = prefix
            for index in 0..<15 {
                if index == 6 { rest = number }
                let shift = UInt64(index < 6 ? 25 - 5 * index : 40 - 5 * (index - 6))
                text[index] = Self.digits[Int(truncatingIfNeeded: rest >> shift & 31)]
            }
            return 15
        }
    }
}

/// Why a request was refused as a whole, for reasons other than its JSON.
enum RequestFault: String, CaseIterable {
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case unsupportedMediaType = "unsupported_media_type"
    case unsupportedEncoding = "unsupported_encoding"
    case invalidGzip = "invalid_gzip"
    case bodyTooLarge = "body_too_large"
    case inflationRatio = "inflation_ratio"
    case rateLimited = "rate_limited"
    case overloaded = "overloaded"
    case addressOverloaded = "address_overloaded"
    case outOfSpace = "out_of_space"
    case writeFailed = "write_failed"
    case stalled = "stalled"
    case clockWrong = "server_clock_wrong"
    case stopping = "stopping"
    case recordsTooLarge = "records_too_large"

    var status: Int {
        switch self {
        case .notFound: 404
        case .methodNotAllowed: 405
        case .unsupportedMediaType, .unsupportedEncoding: 415
        case .invalidGzip: 400
        case .bodyTooLarge, .inflationRatio, .recordsTooLarge: 413
        case .rateLimited: 429
        case .overloaded, .addressOverloaded, .outOfSpace, .writeFailed, .stalled, .clockWrong, .stopping: 503
        }
    }

    /// Seconds after which it makes sense to come again.
    var retrySeconds: Int? {
        switch self {
        case .overloaded, .addressOverloaded, .stopping: 2
        case .writeFailed: 5
        case .outOfSpace, .stalled: 10
        case .clockWrong: 60
        default: nil
        }
    }

    var detail: StaticString {
        switch self {
        case .notFound: "nothing is here"
        case .methodNotAllowed: "events are posted"
        case .unsupportedMediaType: "the body must be application/json in UTF-8"
        case .unsupportedEncoding: "the body may be gzip and nothing else"
        case .invalidGzip: "the body is labelled gzip and is not a whole gzip file"
        case .bodyTooLarge: "the body is too long"
        case .inflationRatio: "the body inflates to far more than its size"
        case .rateLimited: "too many events"
        case .overloaded: "more waits than memory is set aside for; nothing was acknowledged"
        case .addressOverloaded: "more waits from this address than memory is set aside for; nothing was acknowledged"
        case .outOfSpace: "no room on disk; nothing was acknowledged"
        case .writeFailed: "the events could not be written; nothing was acknowledged"
        case .stalled: "the disk does not answer; nothing was acknowledged, it may still be delivered"
        case .clockWrong: "the server's clock is wrong; nothing was acknowledged"
        case .stopping: "the server is ending; nothing was acknowledged"
        case .recordsTooLarge: "the events need more room than one request may take"
        }
    }
}

extension ServerAnswer {
    static func fault(
        _ fault: RequestFault,
        _ requestID: String,
        retrySeconds: Int? = nil,
        headers: [(name: String, value: String)] = []
    ) -> ServerAnswer {
        error(
            status: fault.status,
            code: fault.rawValue,
            detail: "\(fault.detail)",
            requestID,
            retrySeconds: retrySeconds ?? fault.retrySeconds,
            headers: headers
        )
    }

    /// An answer with a JSON body that names a stable code.
    static func error(
        status: Int,
        code: String,
        detail: String,
        _ requestID: String,
        retrySeconds: Int? = nil,
        headers: [(name: String, value: String)] = [],
        closes: Bool = false
    ) -> ServerAnswer {
        var headers = headers
        if let retrySeconds { headers.append(("Retry-After", String(retrySeconds))) }
        let body = "{\"request_id\":\"\(requestID)\",\"code\":\"\(code)\",\"detail\":\"\(detail)\"}"
        return ServerAnswer(
            status: status,
            contentType: "application/json",
            body: body,
            headers: headers,
            closes: closes
        )
    }

    static func refusal(_ refusal: ServerRefusal, _ requestID: String) -> ServerAnswer {
        let detail =
            switch refusal {
            case .badRequest: "the head leaves open where the request ends, or is of an unknown version"
            case .lengthRequired: "the length of the body is missing"
            case .bodyTooLarge: "the body is too long"
            case .unknownExpectation: "only 100-continue may be expected"
            case .stopping: "the server is ending; nothing was acknowledged"
            case .answerTimeout: "no answer in time; nothing was acknowledged, it may still be delivered"
            }
        return error(
            status: refusal.status,
            code: refusal.code,
            detail: detail,
            requestID,
            retrySeconds: refusal.status == 503 ? 2 : nil,
            closes: refusal.closes
        )
    }
}

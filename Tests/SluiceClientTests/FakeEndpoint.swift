// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem

/// Answers requests within the process, and remembers them.
final class FakeEndpoint: Sendable {
    struct Unreachable: Error {}

    private let received = Lock<[EndpointRequest]>([])
    private let script: @Sendable (_ number: Int, EndpointRequest) async throws -> EndpointAnswer

    /// Answers with a script; without one it accepts everything.
    init(
        _ script: @escaping @Sendable (_ number: Int, EndpointRequest) async throws -> EndpointAnswer = {
            .accepting($1.ids)
        }
    ) {
        self.script = script
    }

    /// Gives these answers, then accepts.
    convenience init(then answers: [EndpointAnswer?]) {
        self.init { number, request in
            guard number < answers.count else { return .accepting(request.ids) }
            guard let answer = answers[number] else { throw Unreachable() }
            return answer
        }
    }

    var requests: [EndpointRequest] { received.withLock { $0 } }
    /// Ids of the events of each request.
    var batches: [[String]] { requests.map(\.ids) }

    func answer(_ request: EndpointRequest) async throws -> EndpointAnswer {
        let number = received.withLock { received in
            received.append(request)
            return received.count - 1
        }
        if request.json.isEmpty { return .refusal(400, "invalid_json") }
        return try await script(number, request)
    }
}

extension EndpointRequest {
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:] }
    var events: [[String: Any]] { json["events"] as? [[String: Any]] ?? [] }
    var ids: [String] { events.compactMap { $0["event_id"] as? String } }
    var drops: [String: Int] { json["drops"] as? [String: Int] ?? [:] }
    var text: String { String(decoding: body, as: UTF8.self) }
}

extension EndpointAnswer {
    static func accepting(_ ids: [String], rejecting rejected: [(Int, String)] = [], date: String? = nil) -> Self {
        let accepted = ids.map { "\"\($0)\"" }.joined(separator: ",")
        let refused = rejected.map { #"{"index":\#($0),"event_id":null,"code":"\#($1)","detail":""}"# }
        let list = refused.joined(separator: ",")
        return json(
            200,
            #"{"request_id":"r","accepted":[\#(accepted)],"rejected":[\#(list)],"removed":[]}"#,
            date: date
        )
    }

    /// An answer of the endpoint about the whole request.
    static func refusal(_ status: Int, _ code: String = "some_code", retryAfter: String? = nil) -> Self {
        var answer = json(status, #"{"request_id":"r","code":"\#(code)","detail":""}"#)
        answer.retryAfter = retryAfter
        return answer
    }

    static func page(_ status: Int) -> Self {
        EndpointAnswer(status: status, contentType: "text/html", body: Array("<html>Log in</html>".utf8))
    }

    private static func json(_ status: Int, _ body: String, date: String? = nil) -> Self {
        EndpointAnswer(status: status, contentType: "application/json", date: date, body: Array(body.utf8))
    }
}

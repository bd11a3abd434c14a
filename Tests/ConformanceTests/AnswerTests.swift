// SPDX-License-Identifier: Apache-2.0
import SluiceClient
import SluiceEndpoint
import SluiceTestSupport
import Testing

/// What the endpoint really says is what the vectors take for its words, and the client understands it as they say.
struct AnswerTests {
    private static let event = """
        {"anonymous_id":"a","app_version":"1","build_number":"1","event":"report_exported","event_id":"ID",\
        "occurred_at":1796000000,"platform":"ios","properties":{},"schema_version":1,"sequence":0,"session_id":"s"}
        """

    private static func body(_ ids: [String], _ more: String = "") -> String {
        "{\"events\":[\(ids.map { event.replacing("ID", with: $0) }.joined(separator: ","))]\(more)}"
    }

    private func verdict(_ answer: RawAnswer) -> AnswerVerdict {
        EndpointAnswer(
            status: answer.status,
            contentType: answer.header("Content-Type"),
            retryAfter: answer.header("Retry-After"),
            date: answer.header("Date"),
            body: Array(answer.body.utf8)
        ).verdict(now: 1_796_000_000)
    }

    /// Checks an answer against the vectors that have the endpoint's words for the same status and code.
    private func check(_ answer: RawAnswer, is status: Int) throws {
        try #require(answer.status == status, "\(answer.body)")
        let code = try VectorValue(answer.body.utf8)["code"]
        var compared = 0
        for vector in try Vectors.lines("classify.jsonl") where vector["status"]?.integer == status {
            guard let body = try? VectorValue(vector.text("body").utf8), body["code"] == code,  // others wrote no JSON
                body["request_id"] != nil, vector["headers"]?["Content-Type"]?.text == "application/json",
                status != 200 || vector["name"]?.text == "one rejected"
            else { continue }
            #expect(try verdict(answer).kind == vector.require("expect").text("verdict"), "\(answer.body)")
            compared += 1
        }
        #expect(compared > 0, "no vector has \(status) with \(answer.body)")
    }

    @Test func `a processed batch names each event's verdict`() throws {
        let endpoint = try EndpointAnswers()
        let answer = try endpoint.answer(to: Self.body(["a", "b@", "c"], #","drops":{"expired":1}"#))
        try check(answer, is: 200)
        let rejected = AnswerVerdict.Rejection(index: 1, eventID: nil, code: "invalid_event_id")
        #expect(verdict(answer) == .processed(accepted: ["a", "c"], rejected: [rejected]))
    }

    @Test func `a refused body costs nobody's events`() throws {
        let endpoint = try EndpointAnswers()
        try check(endpoint.answer(to: "{"), is: 400)
        try check(endpoint.answer(to: "[]"), is: 400)
        try check(endpoint.answer(to: Self.body(["a"], #","client_sent_at":"now""#)), is: 400)
        try check(endpoint.answer(to: Self.body(["a"], #","token":"t""#)), is: 400)
        let tooMany = try endpoint.answer(to: Self.body((0...100).map { "e\($0)" }))
        try check(tooMany, is: 413)
        #expect(verdict(tooMany) == .tooLarge(isFinal: true))
        let json = "Content-Type: application/json"
        try check(endpoint.answer(to: String(repeating: " ", count: 1 << 20 | 1)), is: 413)
        try check(endpoint.answer(to: "{}", path: "/elsewhere"), is: 404)
        try check(endpoint.answer(to: "{}", method: "PUT"), is: 405)
        try check(endpoint.answer(to: "{}", headers: ["Content-Type: text/plain"]), is: 415)
        try check(endpoint.answer(to: Self.body(["a"]), headers: [json, "Authorization: Bearer x.y.z"]), is: 401)
    }

    @Test func `a rate limit says when to come again`() throws {
        let endpoint = try EndpointAnswers(addressLimit: RateLimit(eventsPerSecond: 0.5, burst: 1))
        _ = try endpoint.answer(to: Self.body(["a"]))
        let answer = try endpoint.answer(to: Self.body(["b"]))
        try check(answer, is: 429)
        guard case .later(let seconds) = verdict(answer) else {
            Issue.record("\(answer.head)")
            return
        }
        #expect((1...4).contains(seconds ?? 0))
    }
}

extension AnswerVerdict {
    /// The word of the vectors.
    var kind: String {
        switch self {
        case .processed: "processed"
        case .invalid: "invalid"
        case .tooLarge: "too_large"
        case .unauthorized: "unauthorized"
        case .misdirected: "misdirected"
        case .later: "later"
        case .serverFailed: "server_failed"
        case .failed: "failed"
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceClient
import Testing

struct AnswerTests {
    private func verdict(_ status: Int, _ body: String, type: String? = "application/json") -> AnswerVerdict {
        EndpointAnswer(status: status, contentType: type, body: Array(body.utf8)).verdict(now: 0)
    }

    private let good = #"{"request_id":"r","accepted":["a"],"rejected":[],"removed":[]}"#

    @Test func `only the endpoint's own answer counts as success`() {
        #expect(verdict(200, good) == .processed(accepted: ["a"], rejected: []))
        #expect(
            verdict(200, good, type: "Application/JSON; charset=utf-8") == .processed(accepted: ["a"], rejected: [])
        )
        #expect(verdict(200, good, type: "text/html") == .failed)
        #expect(verdict(200, good, type: nil) == .failed)
        #expect(verdict(200, String(good.dropLast())) == .failed)
        #expect(verdict(200, "") == .failed)
        #expect(verdict(200, "<html>") == .failed)
        #expect(verdict(200, "{}") == .failed)
        #expect(verdict(200, #"{"accepted":["a"],"rejected":[]}"#) == .failed)
        #expect(verdict(200, #"{"request_id":"r","accepted":"a","rejected":[]}"#) == .failed)
        for status in [201, 202, 204, 206, 207, 301, 302, 307, 308] { #expect(verdict(status, good) == .failed) }
    }

    @Test func `rejected events come with their place, id and code`() {
        let body =
            #"{"request_id":"r","accepted":[],"rejected":[{"index":3,"event_id":"x","code":"invalid_property","detail":"p"},"#
            + #"{"index":4,"event_id":null,"code":"invalid_json","detail":""}],"removed":[]}"#
        let rejected: [AnswerVerdict.Rejection] = [
            .init(index: 3, eventID: "x", code: "invalid_property"),
            .init(index: 4, eventID: nil, code: "invalid_json"),
        ]
        #expect(verdict(200, body) == .processed(accepted: [], rejected: rejected))
    }

    @Test func `statuses mean what the endpoint's document says, if it was the endpoint`() {
        let own = #"{"request_id":"r","code":"c","detail":"d"}"#
        let verdicts: [(Int, AnswerVerdict, page: AnswerVerdict)] = [
            (400, .invalid(code: "c"), .failed), (422, .invalid(code: "c"), .failed),
            (401, .unauthorized, .failed), (403, .unauthorized, .failed),
            (404, .misdirected, .failed), (405, .misdirected, .failed), (415, .misdirected, .failed),
            (413, .tooLarge(isFinal: true), .tooLarge(isFinal: false)),
            (408, .later(seconds: nil), .later(seconds: nil)), (425, .later(seconds: nil), .later(seconds: nil)),
            (429, .later(seconds: nil), .later(seconds: nil)), (503, .later(seconds: nil), .later(seconds: nil)),
            (500, .serverFailed, .serverFailed), (502, .serverFailed, .serverFailed), (418, .failed, .failed),
        ]
        for (status, expected, page) in verdicts {
            #expect(verdict(status, own) == expected, "\(status)")
            #expect(verdict(status, "<html>", type: "text/html") == page, "\(status)")
        }
    }

    @Test func `Retry-After as a date is read by the server's clock`() {
        var answer = EndpointAnswer.refusal(429, retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT")
        answer.date = "Sun, 06 Nov 1994 08:49:07 GMT"
        #expect(answer.verdict(now: 1_796_000_000) == .later(seconds: 30))
    }
}

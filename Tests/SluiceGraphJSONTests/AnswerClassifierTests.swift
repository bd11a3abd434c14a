// SPDX-License-Identifier: Apache-2.0
import SluiceGraphJSON
import SluiceHTTP
import SluiceSystem
import SluiceTestSupport
import Testing

struct AnswerClassifierTests {
    static let retry = Disposition.retry(after: nil, closesGate: false)
    static let closed = Disposition.retry(after: nil, closesGate: true)

    static func verdict(_ answer: HTTPAnswer) -> Verdict {
        AnswerClassifier(apiKey: "key-4711").classify(HTTPCompletion(tag: 0, result: .answer(answer)))
    }

    @Test(
        arguments: [
            (200, .delivered), (201, .delivered), (202, .delivered), (204, .delivered), (299, .delivered),
            (300, .halt), (301, .halt), (302, .halt), (303, .halt), (304, .halt), (307, .halt), (308, .halt),
            (400, .rejected), (401, .halt), (402, .halt), (403, .halt), (404, .halt), (405, .halt), (406, .halt),
            (407, .halt), (408, retry), (409, .rejected), (410, .halt), (411, .halt), (413, .split), (414, .halt),
            (415, .halt), (417, .halt), (418, .halt), (421, .halt), (422, .rejected), (425, retry), (426, .halt),
            (428, .halt), (429, closed), (431, .halt), (451, .halt), (499, .halt), (500, retry), (501, retry),
            (502, retry), (503, retry), (504, retry), (507, retry), (511, retry), (520, retry), (599, retry),
            (600, retry), (999, retry), (0, retry),
        ] as [(Int, Disposition)]
    )
    func `each status has its disposition`(status: Int, disposition: Disposition) {
        let verdict = Self.verdict(HTTPAnswer(status: status))
        #expect(verdict.disposition == disposition)
        #expect(verdict.status == status)
    }

    @Test(
        arguments: [
            (.resolve, closed), (.connect, closed), (.connectTimeout, closed), (.tlsHandshake, closed),
            (.proxy, closed),
            (.idleTimeout, retry), (.totalTimeout, retry), (.cut, retry), (.protocolViolation, retry),
            (.cancelled, retry),
            (.tlsVerification, .halt), (.proxyAuthentication, .halt), (.invalidRequest, .halt),
        ] as [(HTTPFailure.Kind, Disposition)]
    )
    func `each failure has its disposition`(kind: HTTPFailure.Kind, disposition: Disposition) {
        let failure = HTTPFailure(kind: kind, wasSent: true, message: "what happened")
        let verdict = AnswerClassifier(apiKey: "").classify(HTTPCompletion(tag: 0, result: .failure(failure)))
        #expect(verdict.disposition == disposition)
        #expect(verdict.summary == "what happened")
        #expect(verdict.status == nil)
    }

    @Test(
        arguments: [
            ("application/json", "{\"status\":1}", .delivered),
            ("application/json", "", .delivered),
            ("application/json", " \n", .delivered),
            (nil, "OK", .delivered),
            ("text/plain", "Done", .delivered),
            ("text/html", "OK", .delivered),
            ("text/plain", "0", .rejected),
            ("text/plain", "1", .delivered),
            ("application/json", "false", .rejected),
            ("application/json", "true", .delivered),
            ("application/json", "null", .delivered),
            ("application/json", "\"ok\"", .delivered),
            ("application/json", "Ingestion: invalid secret", retry),
            ("application/problem+json", "{", retry),
            (nil, "{\"status\":", retry),
            (nil, "[1,", retry),
            ("text/html; charset=utf-8", "Sign in <b>here</b>", .halt),
            ("TEXT/HTML", "<p>", .halt),
            (nil, "\n <!DOCTYPE html><html>", .halt),
            (nil, "\u{feff}<html>", .halt),
            ("application/json", "<html>", .halt),
            ("application/json", "{\"error\":\"no\"}", .rejected),
            ("application/json", "{\"errors\":[\"no\"]}", .rejected),
            ("application/json", "{\"errors\":{\"0\":\"no\"}}", .rejected),
            ("application/json", "{\"error\":true}", .rejected),
            ("application/json", "{\"error\":17}", .rejected),
            ("application/json", "{\"error\":null,\"errors\":[]}", .delivered),
            ("application/json", "{\"error\":\"\",\"errors\":{ }}", .delivered),
            ("application/json", "{\"error\":false}", .delivered),
            ("application/json", "{\"error\":0}", .delivered),
            ("application/json", "{\"data\":{\"error\":\"not at the top\"}}", .delivered),
            ("application/json", "{\"\\u0065rror\":\"no\"}", .rejected),
            ("application/json", "{\"success\":false}", .rejected),
            ("application/json", "{\"success\":true}", .delivered),
            ("application/json", "{\"ok\":false}", .rejected),
            ("application/json", "{\"failed\":0,\"rejected\":[]}", .delivered),
            ("application/json", "{\"failed\":2}", .rejected),
            ("application/json", "{\"rejected\":[3]}", .rejected),
            ("application/json", "{\"results\":[{\"status\":200},{\"status\":201}]}", .delivered),
            ("application/json", "{\"results\":[{\"status\":200},{\"status\":422}]}", .rejected),
            ("application/json", "[{\"status\":200},{\"error\":\"no\"}]", .rejected),
            ("application/json", "[]", .delivered),
        ] as [(String?, String, Disposition)]
    )
    func `a success is one unless its body says otherwise`(type: String?, body: String, disposition: Disposition) {
        let answer = HTTPAnswer(status: 200, contentType: type, body: Array(body.utf8))
        #expect(Self.verdict(answer).disposition == disposition)
    }

    @Test(
        arguments: [
            ("", .rejected), ("multi", .rejected), ("{\"items\":[{\"status\":200}]}", .delivered),
            ("{\"items\":[{\"status\":200},{\"status\":429}]}", .rejected), ("{", .rejected),
        ] as [(String, Disposition)]
    )
    func `207 is a success only when it says so`(body: String, disposition: Disposition) {
        #expect(Self.verdict(HTTPAnswer(status: 207, body: Array(body.utf8))).disposition == disposition)
    }

    @Test func `a success that cannot be read is an unknown outcome`() {
        #expect(Self.verdict(HTTPAnswer(status: 200, body: [0x4f], bodyWasCut: true)).disposition == Self.retry)
        #expect(Self.verdict(HTTPAnswer(status: 200, contentCoding: "gzip", body: [0x1f])).disposition == Self.retry)
    }

    @Test func `a refusal counts by its status, however its body reads`() {
        let page = Array("<html>{\"error\":1".utf8)
        #expect(Self.verdict(HTTPAnswer(status: 503, body: page, bodyWasCut: true)).disposition == Self.retry)
        #expect(Self.verdict(HTTPAnswer(status: 400, contentType: "text/html", body: page)).disposition == .rejected)
    }

    @Test func `Retry-After closes the gate on every retry`() {
        let after = Disposition.retry(after: .seconds(2), closesGate: true)
        for status in [408, 425, 429, 500, 503] {
            #expect(Self.verdict(HTTPAnswer(status: status, retryAfter: "2")).disposition == after)
        }
        #expect(Self.verdict(HTTPAnswer(status: 503, retryAfter: "soon")).disposition == Self.retry)
        #expect(Self.verdict(HTTPAnswer(status: 413, retryAfter: "2")).disposition == .split)
    }

    @Test func `an excerpt comes with refusals and never with the summary`() {
        let body = Array("{\"error\":\"event 17 of ann@example.com, key key-4711\"}".utf8)
        for status in [200, 400, 401, 429, 500] {
            let verdict = Self.verdict(HTTPAnswer(status: status, body: body))
            #expect(verdict.excerpt.contains("event 17"))
            #expect(!verdict.excerpt.contains("4711"))
            #expect(!verdict.summary.contains("event"))
        }
    }
}

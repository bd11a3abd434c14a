// SPDX-License-Identifier: Apache-2.0
import SluiceEndpoint
import SluiceEvents
import SluiceServer
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

/// Raw requests from real incidents, each with the answer that is right.
///
/// Cases C21, C22, C24, C26 and C28.
@Suite(.timeLimit(.minutes(2)))
struct HandedRequestTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// Nil: the connection is closed without an answer.
        var status: Int?
        /// Nil: an accepted batch, or the HTTP library's own body.
        var code: String?

        init(_ name: String, _ status: Int?, _ code: String? = nil) {
            self.name = name
            self.status = status
            self.code = code
        }

        var testDescription: String { name }
    }

    private static let cases = [
        Case("C21a-charset", 200), Case("C21b-quoted", 200), Case("C21c-text-plain", 415, "unsupported_media_type"),
        Case("C21d-none", 415, "unsupported_media_type"), Case("C21e-form", 415, "unsupported_media_type"),
        Case("C21f-utf16", 415, "unsupported_media_type"), Case("C21g-jsonish", 415, "unsupported_media_type"),
        Case("C21h-vendor", 415, "unsupported_media_type"),
        Case("C22a-good", 200), Case("C22b-label-only", 400, "invalid_gzip"),
        Case("C22c-no-label", 400, "invalid_json"),
        Case("C22d-cut", 400, "invalid_gzip"), Case("C22e-bad-crc", 400, "invalid_gzip"), Case("C22f-token", 200),
        Case("C22g-deflate", 415, "unsupported_encoding"), Case("C22h-br", 415, "unsupported_encoding"),
        Case("C24a-one-byte", 200), Case("C24b-extension", 200), Case("C24c-trailer", 200), Case("C24d-hex", 200),
        // What cannot be read as HTTP keeps the HTTP library's own body; a line feed alone behind a chunk's size is taken.
        Case("C24e-bad-size", 400), Case("C24f-overflow", 413), Case("C24g-negative", 400),
        Case("C24h-no-last-crlf", nil),
        Case("C24i-longer-than-size", 400), Case("C24j-lf-only", 200), Case("C24k-no-last-chunk", nil),
        Case("C26a-expect", 200), Case("C26b-expect-unknown", 417, "unknown_expectation"),
        Case("C26c-expect-oversize-head", 413, "body_too_large"),
        Case("C28a-http10", 200), Case("C28b-http10-no-cl", 411, "length_required"), Case("C28c-no-host", 400),
        Case("C28d-get", 405, "method_not_allowed"), Case("C28e-put", 405, "method_not_allowed"),
        Case("C28f-head", 405),
        Case("C28g-options", 405, "method_not_allowed"), Case("C28h-absolute", 200),
        Case("C28i-dotdot", 404, "not_found"),
        Case("C28j-lower", 405, "method_not_allowed"), Case("C28k-h2-preface", 505), Case("C28l-query", 200),
        Case("C28m-version9", 505), Case("C28n-tls-hello", nil), Case("C28o-http09", 400),
    ]

    @Test(arguments: cases, [false, true])
    func `a handed request gets its answer, whole or byte by byte`(input: Case, isDripped: Bool) async throws {
        let probe = try EndpointProbe(start: { $0.server.bodyTimeout = .seconds(2) })
        let bytes = try Inputs.bytes(input.name + ".req")
        let answers = try await onThread {
            let socket = probe.connect()
            if isDripped { for byte in bytes { socket.send([byte]) } } else { socket.send(bytes) }
            socket.endSending()
            return RawAnswer.all(socket.receiveAll())
        }
        // The HTTP library does not always see that a client will send no more; then the body's deadline ends it.
        let isLate = input.status == nil && answers.map(\.status) == [408]
        #expect(answers.first?.status == input.status || isLate)
        if let code = input.code {
            #expect(answers.first?.member("code") == code)
            #expect(answers.first?.header("Content-Type") == "application/json")
        }
        if input.status == 405 { #expect(answers.first?.header("Allow") == "POST") }
        let records = try probe.spooled()
        #expect(records.count == (input.status == 200 ? 1 : 0))
    }

    @Test func `every handed request has its case`() throws {
        let names = try FileSystem.names(in: Inputs.folder).filter { $0.hasSuffix(".req") }
        #expect(Self.cases.map { $0.name + ".req" }.sorted() == names)
    }

    @Test func `a body that never ends is answered 408 at its deadline`() async throws {
        let probe = try EndpointProbe(start: { $0.server.bodyTimeout = .milliseconds(300) })
        for name in ["C24h-no-last-crlf.req", "C24k-no-last-chunk.req"] {
            let answers = try await probe.exchange(try Inputs.bytes(name), endsSending: false)
            #expect(answers.map(\.status) == [408])
        }
        #expect(try probe.spooled().isEmpty)
    }
}

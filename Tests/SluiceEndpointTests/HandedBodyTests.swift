// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// Bodies from real incidents and bodies of indecent size, posted to a listening endpoint.
///
/// Cases C05, C06, C07, C08, C10, C11, C14, C15, C17, C18, C19 and C20.
struct HandedBodyTests {
    private static let folder: String = {
        let tests = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        return "/\(tests)/SluiceEventsTests/Inputs"
    }()

    /// No batch at all; every other handed body is one, whatever its events are.
    private static let refused: Set<String> = [
        "C06c-raw-nul", "C07a-c328", "C07b-in-key", "C07c-overlong", "C07d-surrogate", "C07e-cut-emoji", "C07f-latin1",
        "C10b-nest600-ignored", "C10c-nest511-ignored", "C10d-unclosed", "C17a-lead-comma", "C17b-no-comma",
        "C17c-two-commas", "C17d-holes", "C17e-nul-run", "C17f-joined", "C17g-after-end", "C17h-unclosed",
        "C18a-ndjson",
        "C18b-top-array", "C18c-null", "C18d-string", "C18e-empty", "C18f-blank", "C18g-no-key", "C18h-null-events",
        "C18i-object-events", "C18j-case", "C18k-bare-envelope",
    ]

    @Test func `every handed body gets its status, and what is accepted is stored and nothing else`() async throws {
        let probe = try EndpointProbe()
        let names = try FileSystem.names(in: Self.folder).filter { $0.hasSuffix(".json") }
        #expect(names.count >= 77)
        var accepted = 0
        for name in names {
            let answer = try await probe.post(try FileSystem.contents(of: "\(Self.folder)/\(name)", limit: 1 << 20))
            let isRefused = Self.refused.contains(String(name.dropLast(5)))
            #expect(answer.status == (isRefused ? 400 : 200), "\(name): \(answer.body)")
            #expect(answer.body.hasPrefix("{\"request_id\":"), "\(name)")
            if isRefused {
                #expect(answer.body.contains("\"code\":\""), "\(name)")
            } else {
                let list = answer.body.split(separator: "],\"rejected\"")[0].split(separator: "[")
                if list.count > 1 { accepted += list[1].split(separator: ",").count }
            }
        }
        #expect(accepted > 20)
        #expect(try probe.spooled().count == accepted)
    }

    /// An event whose properties are these.
    private func batch(_ properties: String, count: Int = 1) -> String {
        let events = (0..<count).map { number in
            #"{"event":"screen_view","event_id":"e\#(number)","occurred_at":1796000000,"anonymous_id":"a","session_id":"s","#
                + #""app_version":"1","build_number":"1","platform":"ios","schema_version":1,"properties":{\#(properties)}}"#
        }
        return "{\"events\":[\(events.joined(separator: ","))]}"
    }

    @Test func `indecent sizes are refused within their bounds, and the next client is served`() async throws {
        let probe = try EndpointProbe()
        let deep = String(repeating: "[", count: 100_000)
        let tooMany = (0..<1000).map { #""p\#($0)":1"# }.joined(separator: ",")
        let cases: [(what: String, body: String, status: Int, code: String)] = [
            ("a hundred thousand brackets", batch("\"screen\":\(deep)"), 400, "invalid_json"),
            (
                "nested and closed", batch("\"screen\":\(deep)\(String(repeating: "]", count: 100_000))"), 200,
                "invalid_json"
            ),
            ("a key of 40 KB", batch("\"\(String(repeating: "k", count: 40_000))\":1"), 200, "event_too_large"),
            (
                "a value of 40 KB", batch("\"note\":\"\(String(repeating: "v", count: 40_000))\""), 200,
                "event_too_large"
            ),
            ("a key of 2 MB", batch("\"\(String(repeating: "k", count: 2_000_000))\":1"), 413, "body_too_large"),
            ("a thousand properties", batch(tooMany), 200, "too_many_properties"),
            (
                "200,000 escapes", batch("\"note\":\"\(String(repeating: "\\n", count: 200_000))\""), 200,
                "event_too_large"
            ),
            ("a hundred and one events", batch("", count: 101), 413, "too_many_events"),
            ("ten thousand events", batch("", count: 10_000), 413, ""),
        ]
        for (what, body, status, code) in cases {
            let answer = try await probe.post(body)
            #expect(answer.status == status, "\(what): \(answer.body)")
            #expect(answer.body.contains(code), "\(what): \(answer.body)")
            #expect(try await probe.post(batch("\"screen\":\"home\"")).status == 200, "after \(what)")
        }
        #expect(try await probe.post(batch("\"screen\":\"home\"", count: 51)).status == 200)
    }

    @Test(arguments: ["5,000 headers", "a header of a megabyte"])
    func `heads beyond their bound are refused and the next client is served`(what: String) async throws {
        let probe = try EndpointProbe()
        let headers =
            what == "5,000 headers"
            ? (0..<5000).map { "X-H\($0): v" } : ["X-Long: \(String(repeating: "h", count: 1 << 20))"]
        let answers = try await probe.exchange(
            EndpointProbe.request(Array(batch("").utf8), headers: headers),
            endsSending: false
        )
        // A head that is cut off in the middle of its sending may lose the answer, but never the endpoint.
        for answer in answers { #expect(answer.status == 431) }
        #expect(try await probe.post(batch("\"screen\":\"home\"")).status == 200)
    }
}

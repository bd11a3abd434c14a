// SPDX-License-Identifier: Apache-2.0
import SluiceGraphJSON
import SluiceHTTP
import SluiceSystem
import SluiceTestSupport
import Testing

/// The answers of `Answers`, each a raw HTTP answer that caused trouble somewhere, through the real client.
///
/// Cases C55, C56, C57, C58, C59, C60 and C63.
@Suite(.timeLimit(.minutes(1)))
struct HandedAnswerTests {
    static let retry = Disposition.retry(after: nil, closesGate: false)
    static let closed = Disposition.retry(after: nil, closesGate: true)
    static let closedFor2 = Disposition.retry(after: .seconds(2), closesGate: true)
    /// Thirty seconds before the date in C60b.
    static let now: Int64 = 1_795_996_800_000

    static let expected: [(String, Disposition)] = [
        ("C55a-status0", .rejected), ("C55b-bare0", .rejected), ("C55c-text", retry), ("C55d-empty", .delivered),
        ("C55e-portal", .halt), ("C55f-cut-json", retry), ("C55g-good", .delivered),
        ("C56a-207", .rejected), ("C56b-200-failed", .rejected), ("C56c-400-index", .rejected),
        ("C56d-400-index-wild", .rejected),
        ("C57a-401", .halt), ("C57b-403", .halt), ("C57c-407", .halt),
        ("C58a-408", retry), ("C58b-500-html", retry), ("C58c-502-html", retry), ("C58d-504", retry),
        ("C58e-404", .halt),
        ("C58f-405", .halt), ("C58g-410", .halt), ("C58h-415", .halt), ("C58i-422", .rejected), ("C58j-425", retry),
        ("C58k-520", retry), ("C59-413", .split),
        ("C60a-429-seconds", closedFor2), ("C60b-429-date", .retry(after: .seconds(30), closesGate: true)),
        ("C60c-429-lower", closedFor2), ("C60d-429-none", closed), ("C60e-503", closedFor2),
        ("C63a-short", retry), ("C63b-chunk-cut", retry), ("C63c-extra", .delivered), ("C63d-bad-gzip", retry),
        ("C63e-head-only", retry),
    ]

    static let folder = #filePath.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/Answers"

    @Test func `every handed answer has an expectation`() throws {
        let names = try FileSystem.names(in: Self.folder).map { $0.dropLast(".resp".utf8.count) }
        #expect(names.map(String.init) == Self.expected.map(\.0).sorted())
    }

    @Test(arguments: expected)
    func `a handed answer is judged as it must be`(name: String, disposition: Disposition) async throws {
        let bytes = try FileSystem.contents(of: "\(Self.folder)/\(name).resp", limit: 4096)
        let server = ScriptedServer([.answer(bytes, closes: true)])
        defer { server.stop() }
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        let client = HTTPClient { continuation.yield() }
        defer { client.close() }
        client.send(.post(server.url, headers: .json, body: RequestBody("{}")), tag: 1)
        for await _ in signals { break }
        var completions: [HTTPCompletion] = []
        client.takeCompletions(into: &completions)
        let clock = SystemClock(wallMilliseconds: { Self.now }, monotonicNanoseconds: { 0 })
        let verdict = AnswerClassifier(apiKey: "k", clock: clock).classify(try #require(completions.first))
        #expect(verdict.disposition == disposition, "\(verdict)")
        #expect(server.requests.count == 1)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import Testing

/// A client whose completions a test can wait for.
final class HTTPProbe: Sendable {
    let client: HTTPClient
    private let signals: AsyncStream<Void>

    init(_ change: (inout HTTPClientConfiguration) -> Void = { _ in }) {
        var configuration = HTTPClientConfiguration()
        change(&configuration)
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.signals = signals
        client = HTTPClient(configuration) { continuation.yield() }
    }

    deinit { client.close() }

    func completions(_ count: Int) async -> [HTTPCompletion] {
        var taken: [HTTPCompletion] = []
        client.takeCompletions(into: &taken)
        while taken.count < count {
            for await _ in signals { break }
            client.takeCompletions(into: &taken)
        }
        return taken
    }

    /// Sends one request and waits for its end.
    func result(of request: HTTPRequest) async throws -> HTTPCompletion.Result {
        client.send(request, tag: 7)
        let completion = try #require(await completions(1).first)
        #expect(completion.tag == 7)
        return completion.result
    }

    func post(_ url: String, _ body: String = "{}") async throws -> HTTPCompletion.Result {
        try await result(of: .post(url, headers: .json, body: RequestBody(body)))
    }
}

extension HTTPCompletion.Result {
    func answer() throws -> HTTPAnswer {
        guard case .answer(let answer) = self else {
            Issue.record("no answer: \(self)")
            throw Unexpected()
        }
        return answer
    }

    func failure() throws -> HTTPFailure {
        guard case .failure(let failure) = self else {
            Issue.record("no failure: \(self)")
            throw Unexpected()
        }
        return failure
    }
}

struct Unexpected: Error {}

// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import SluiceJSON
import SluiceSystem
import SluiceTestSupport
import Testing

/// The stub as a process of its own, with a client.
final class StubProcess {
    let folder = TemporaryFolder()
    let process: RunningProcess
    let url: String
    private let client: HTTPClient
    private let signals: AsyncStream<Void>

    init(_ arguments: String...) throws {
        process = try ProcessRunner().start("graphjson-stub", ["--store", folder.path("store")] + arguments)
        url = "http://" + (try #require(process.line(startingWith: "listening on ")))
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        self.signals = signals
        client = HTTPClient { continuation.yield() }
    }

    deinit { client.close() }

    func send(_ requests: [HTTPRequest]) async -> [HTTPCompletion] {
        for (tag, request) in requests.enumerated() { client.send(request, tag: tag) }
        var completions: [HTTPCompletion] = []
        while completions.count < requests.count {
            for await _ in signals { break }
            client.takeCompletions(into: &completions)
        }
        return completions.sorted { $0.tag < $1.tag }
    }

    func post(_ path: String, _ body: String) async throws -> HTTPCompletion.Result {
        let request = HTTPRequest.post(url + path, headers: .json, body: RequestBody(body))
        return try #require(await send([request]).first).result
    }

    /// The status of the answer; 0 when there is none.
    func status(_ path: String, _ body: String) async throws -> Int {
        if case .answer(let answer) = try await post(path, body) { answer.status } else { 0 }
    }

    func stats() async throws -> String {
        guard case .answer(let answer) = try #require(await send([.get(url + "/stats")]).first).result else {
            return ""
        }
        return String(decoding: answer.body, as: UTF8.self)
    }

    var stored: [String] {
        get throws {
            let bytes = try FileSystem.contents(of: folder.path("store"), limit: 1 << 24)
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    /// A request in the bulk form; each event is given as JSON text.
    static func bulk(_ events: [String], timestamp: String = "\"timestamp\":5", key: String = "k") -> String {
        var buffer = ByteBuffer()
        buffer.append("{\"api_key\":\"\(key)\",\"collection\":\"c\",\(timestamp),\"jsons\":[")
        for (index, event) in events.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.append(jsonString: event)
        }
        buffer.append("]}")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }
}

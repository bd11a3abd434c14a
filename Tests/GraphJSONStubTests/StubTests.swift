// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import SluiceTestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct StubTests {
    @Test func `all three shapes are taken and stored before the answer`() async throws {
        let stub = try StubProcess()
        #expect(
            try await stub.status(
                "/api/bulk-log",
                StubProcess.bulk(["{\"event_id\":\"a\"}", "{\n\"event_id\":\"b\"}"])
            ) == 200
        )
        let two = StubProcess.bulk(["{\"event_id\":\"c\"}", "{}"], timestamp: "\"timestamps\":[6,7]")
        #expect(try await stub.status("/api/bulk-log", two) == 200)
        let single =
            "{\"api_key\":\"k\",\"collection\":\"d\\\"\",\"timestamp\":8,\"json\":\"{\\\"event_id\\\":\\\"a\\\"}\"}"
        #expect(try await stub.status("/api/log", single) == 200)
        stub.process.kill()
        #expect(
            try stub.stored == [
                #"{"collection":"c","timestamp":5,"json":{"event_id":"a"},"request":1}"#,
                #"{"collection":"c","timestamp":5,"json":{ "event_id":"b"},"request":1}"#,
                #"{"collection":"c","timestamp":6,"json":{"event_id":"c"},"request":2}"#,
                #"{"collection":"c","timestamp":7,"json":{},"request":2}"#,
                #"{"collection":"d\"","timestamp":8,"json":{"event_id":"a"},"request":3}"#,
            ]
        )
    }

    @Test(
        arguments: [
            ("no key", "{\"collection\":\"c\",\"timestamp\":5,\"jsons\":[\"{}\"]}", 401),
            ("an empty key", StubProcess.bulk(["{}"], key: ""), 401),
            ("no collection", "{\"api_key\":\"k\",\"timestamp\":5,\"jsons\":[\"{}\"]}", 400),
            ("a float for a timestamp", StubProcess.bulk(["{}"], timestamp: "\"timestamp\":5.0"), 400),
            ("text for a timestamp", StubProcess.bulk(["{}"], timestamp: "\"timestamp\":\"5\""), 400),
            ("no timestamp", StubProcess.bulk(["{}"], timestamp: "\"t\":5"), 400),
            ("too few timestamps", StubProcess.bulk(["{}", "{}"], timestamp: "\"timestamps\":[5]"), 400),
            ("no events", StubProcess.bulk([]), 400),
            ("51 events", StubProcess.bulk(Array(repeating: "{}", count: 51)), 400),
            (
                "an object that is no string",
                "{\"api_key\":\"k\",\"collection\":\"c\",\"timestamp\":5,\"jsons\":[{}]}", 400
            ),
            ("an array for an event", StubProcess.bulk(["{}", "[]"]), 400),
            ("half an event", StubProcess.bulk(["{}", "{\"a\":"]), 400),
            ("nothing for an event", StubProcess.bulk([""]), 400),
            ("two objects in a string", StubProcess.bulk(["{},{}"]), 400),
            ("strings that only make sense together", StubProcess.bulk(["{\"a\":[1", "2]}", "{},{}"]), 400),
            ("no JSON", "jsons", 400),
        ]
    )
    func `what is not known to be right is refused`(what: String, body: String, status: Int) async throws {
        let stub = try StubProcess()
        #expect(try await stub.status("/api/bulk-log", body) == status)
        #expect(try stub.stored.isEmpty)
        let stats = try await stub.stats()
        #expect(stats.hasPrefix("{\"requests\":1,\"events\":0,\"distinct_event_ids\":0,\"rejected_requests\":1,"))
    }

    @Test func `other paths and methods are refused`() async throws {
        let stub = try StubProcess()
        #expect(try await stub.status("/api/other", "{}") == 404)
        #expect(try await stub.status("/stats", "{}") == 405)
        let get = try #require(await stub.send([.get(stub.url + "/api/log")]).first)
        guard case .answer(let answer) = get.result else { throw Missing() }
        #expect(answer.status == 405)
    }

    @Test func `the counts are exact`() async throws {
        let stub = try StubProcess()
        let requests = (0..<200).map { number in
            let events = (0..<50).map { "{\"event_id\":\"id-\((number * 50 + $0) % 7919)\"}" }
            return HTTPRequest.post(
                stub.url + "/api/bulk-log",
                headers: .json,
                body: RequestBody(StubProcess.bulk(events))
            )
        }
        for start in stride(from: 0, to: 200, by: 20) { _ = await stub.send(Array(requests[start..<(start + 20)])) }
        let counts = "\"requests\":200,\"events\":10000,\"distinct_event_ids\":7919,\"rejected_requests\":0"
        let stats = try await stub.stats()
        #expect(stats == "{\(counts),\"resets\":0,\"max_events_per_request\":50}\n")
        #expect(try stub.stored.count == 10000)
    }

    @Test func `the key is checked when there is one`() async throws {
        let stub = try StubProcess("--key", "right")
        #expect(try await stub.status("/api/bulk-log", StubProcess.bulk(["{}"], key: "wrong")) == 401)
        #expect(try await stub.status("/api/bulk-log", StubProcess.bulk(["{}"], key: "right")) == 200)
    }

    @Test func `poison refuses its whole request with the status that was asked for`() async throws {
        let stub = try StubProcess("--poison", "p1", "--poison=p2", "--poison-status", "500")
        for id in ["p1", "p2"] {
            let body = StubProcess.bulk(["{\"event_id\":\"ok\"}", "{\"event_id\":\"\(id)\"}"])
            #expect(try await stub.status("/api/bulk-log", body) == 500)
        }
        #expect(try await stub.status("/api/bulk-log", StubProcess.bulk(["{\"event_id\":\"p3\"}"])) == 200)
        #expect(try stub.stored.count == 1)
    }

    @Test func `the first requests fail as asked, with Retry-After`() async throws {
        let stub = try StubProcess("--fail", "429:2", "--fail", "503:1", "--retry-after", "7")
        var seen: [String] = []
        for _ in 0..<4 {
            guard case .answer(let answer) = try await stub.post("/api/bulk-log", StubProcess.bulk(["{}"])) else {
                throw Missing()
            }
            seen.append("\(answer.status) \(answer.retryAfter ?? "-")")
        }
        #expect(seen == ["429 7", "429 7", "503 7", "200 -"])
    }

    @Test func `a share of the requests fails`() async throws {
        let stub = try StubProcess("--fail-rate", "0.5")
        let request = HTTPRequest.post(
            stub.url + "/api/bulk-log",
            headers: .json,
            body: RequestBody(StubProcess.bulk(["{}"]))
        )
        let failed = await stub.send(Array(repeating: request, count: 200)).count { completion in
            if case .answer(let answer) = completion.result { answer.status == 503 } else { false }
        }
        #expect((50...150).contains(failed))
        #expect(try stub.stored.count == 200 - failed)
    }

    @Test func `a request is taken and its connection reset`() async throws {
        let stub = try StubProcess("--reset-rate", "1")
        guard case .failure(let failure) = try await stub.post("/api/bulk-log", StubProcess.bulk(["{}"])) else {
            throw Missing()
        }
        #expect(failure.kind == .cut)
        #expect(try stub.stored.count == 1)
    }

    @Test func `latency holds no thread`() async throws {
        let stub = try StubProcess("--latency-ms", "300", "--reset-rate", "0.1")
        let request = HTTPRequest.post(
            stub.url + "/api/bulk-log",
            headers: .json,
            body: RequestBody(StubProcess.bulk(["{}"]))
        )
        let start = ContinuousClock.now
        let completions = await stub.send(Array(repeating: request, count: 100))
        let duration = start.duration(to: .now)
        #expect(duration > .milliseconds(290) && duration < .seconds(10))
        #expect(completions.count == 100)
        #expect(try stub.stored.count == 100)
    }

    @Test func `a share of the answers comes later than the others`() async throws {
        let stub = try StubProcess("--latency-ms", "1", "--slow-rate", "0.5", "--slow-ms", "300")
        let request = HTTPRequest.post(
            stub.url + "/api/bulk-log",
            headers: .json,
            body: RequestBody(StubProcess.bulk(["{}"]))
        )
        let completions = await stub.send(Array(repeating: request, count: 100))
        // Fewer come by chance once in 10^9 times; a busy machine makes more of them slow.
        #expect(completions.count { $0.nanoseconds > 290_000_000 } >= 20)
        #expect(completions.count == 100)
    }

    @Test func `a large body is refused and counted`() async throws {
        let stub = try StubProcess("--max-body", "1000")
        let body = StubProcess.bulk(["{\"text\":\"\(String(repeating: "x", count: 2000))\"}"])
        #expect(try await stub.status("/api/bulk-log", body) == 413)
        #expect(
            try await stub.stats().hasPrefix(
                "{\"requests\":1,\"events\":0,\"distinct_event_ids\":0,\"rejected_requests\":1,"
            )
        )
    }

    @Test func `nobody is authorized until the file exists`() async throws {
        let folder = TemporaryFolder()
        let stub = try StubProcess("--unauthorized-until", folder.path("go"))
        #expect(try await stub.status("/api/bulk-log", StubProcess.bulk(["{}"])) == 401)
        try folder.write("", to: "go")
        #expect(try await stub.status("/api/bulk-log", StubProcess.bulk(["{}"])) == 200)
    }

    @Test func `everything can be rejected`() async throws {
        let stub = try StubProcess("--reject-all")
        #expect(try await stub.status("/api/bulk-log", StubProcess.bulk(["{}"])) == 400)
        #expect(try stub.stored.isEmpty)
    }

    @Test func `it ends cleanly on SIGTERM, also while it owes answers`() async throws {
        let stub = try StubProcess("--latency-ms", "60000")
        let socket = try #require(
            LoopbackSocket.connected(to: UInt16(stub.url.split(separator: ":").last.flatMap { Int($0) } ?? 0))
        )
        let body = StubProcess.bulk(["{}"])
        socket.send(
            Array("POST /api/bulk-log HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
        )
        stub.process.wait(seconds: 20) { (try? stub.stored.count) == 1 }
        stub.process.terminate()
        #expect(stub.process.result(seconds: 20).code == 0)
    }

    @Test func `a wrong command line is exit code 64, a taken address 74`() throws {
        #expect(try ProcessRunner().run("graphjson-stub", ["--fail", "x"]).code == 64)
        #expect(try ProcessRunner().run("graphjson-stub", ["--what"]).code == 64)
        let taken = LoopbackSocket.bound(backlog: 1)
        let result = try ProcessRunner().run("graphjson-stub", ["--listen", "127.0.0.1:\(taken.port)"])
        #expect(result.code == 74)
        #expect(result.errors == "graphjson-stub: 127.0.0.1:\(taken.port): bind failed: Address already in use\n")
    }
}

struct Missing: Error {}

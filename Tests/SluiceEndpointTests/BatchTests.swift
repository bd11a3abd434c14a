// SPDX-License-Identifier: Apache-2.0
import SluiceEndpoint
import SluiceEvents
import SluiceServer
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct BatchTests {
    @Test func `each event has its verdict and the good ones are on disk`() async throws {
        let probe = try EndpointProbe()
        let answer = try await probe.post(
            Batch.body(
                Batch.event("good-1"),
                Batch.event("bad", ["event": #""nobody_knows""#]),
                Batch.event("removed", ["properties": #"{"screen":"a","secret":"b"}"#, "surprise": "1"])
            )
        )
        #expect(answer.status == 200)
        #expect(answer.body.contains(#""accepted":["good-1","removed"]"#))
        #expect(
            answer.body.contains(
                #""rejected":[{"index":1,"event_id":"bad","code":"unsupported_event","detail":"event"}]"#
            )
        )
        #expect(answer.body.contains(#""removed":[{"index":2,"names":["surprise","secret"]}]"#))
        let lines = try probe.lines()
        #expect(lines.compactMap(SpooledLines.id) == ["good-1", "removed"])
        #expect(!lines.joined().contains("secret"))
        #expect(probe.metric(#"sluice_endpoint_events_total{event="screen_view",result="accepted",code=""}"#) == 2)
        #expect(
            probe.metric(#"sluice_endpoint_events_total{event="unlisted",result="rejected",code="unsupported_event"}"#)
                == 1
        )
        #expect(probe.metric("sluice_endpoint_removed_names_total") == 2)
        #expect(probe.metric(#"sluice_endpoint_requests_total{status="200"}"#) == 1)
    }

    @Test func `an empty batch is accepted and leaves nothing behind`() async throws {
        let probe = try EndpointProbe()
        let answer = try await probe.post(#"{"events":[]}"#)
        #expect(answer.status == 200)
        #expect(answer.body.hasSuffix(#""accepted":[],"rejected":[],"removed":[]}"#))
        #expect(try probe.lines().isEmpty)
    }

    @Test(
        arguments: [
            ("[]", 400, "invalid_batch"), ("", 400, "invalid_json"),
            (#"{"events":[],"api_key":"k"}"#, 400, "forbidden_field"),
            (#"{"events":[1}"#, 400, "invalid_json"), (#"{"events":[],"events":[]}"#, 400, "duplicate_key"),
        ]
    )
    func `a body that is no batch is refused with a stable code`(body: String, status: Int, code: String) async throws {
        let answer = try await EndpointProbe().post(body)
        #expect(answer.status == status)
        #expect(answer.member("code") == code)
    }

    @Test func `too many events are refused whole`() async throws {
        let probe = try EndpointProbe()
        #expect(try await probe.post(Batch.of(100)).status == 200)
        let answer = try await probe.post(Batch.of(101))
        #expect(answer.status == 413)
        #expect(answer.member("code") == "too_many_events")
        #expect(try probe.spooled().count == 100)
    }

    /// Case C15.
    @Test func `the limit of a body is exact`() async throws {
        let probe = try EndpointProbe(settings: { $0.limits.maximumBodyBytes = 2000 })
        let body = Batch.body(Batch.event("e"))
        let padded = { (size: Int) in body + String(repeating: " ", count: size - body.utf8.count) }
        #expect(try await probe.post(padded(1999)).status == 200)
        #expect(try await probe.post(padded(2000)).status == 200)
        #expect(try await probe.post(padded(2001)).status == 413)
        let chunked =
            "POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        let tail = "\r\n0\r\n\r\n"
        let fits = try await probe.exchange(Array("\(chunked)7d0\r\n\(padded(2000))\(tail)".utf8))
        #expect(fits.map(\.status) == [200])
        let tooLong = try await probe.exchange(Array("\(chunked)7d1\r\n\(padded(2001))\(tail)".utf8))
        #expect(tooLong.first?.status == 413)
    }

    /// Case C22.
    @Test func `gzip bodies are taken and their limits count what comes out`() async throws {
        let probe = try EndpointProbe(settings: { $0.limits.maximumBodyBytes = 200_000 })
        let gzip = ["Content-Encoding: gzip"]
        #expect(try await probe.post(Gzip.compress(Array(Batch.of(50).utf8)), headers: gzip).status == 200)
        let bomb = Batch.body(Batch.event("e")) + String(repeating: " ", count: 190_000)
        let refused = try await probe.post(Gzip.compress(Array(bomb.utf8)), headers: gzip)
        #expect(refused.status == 413)
        #expect(refused.member("code") == "inflation_ratio")
        let long = Batch.of(50) + (0..<40_000).map { " \($0 % 7)" }.joined()
        let tooLong = try await probe.post(Gzip.compress(Array((long + long).utf8)), headers: gzip)
        #expect(tooLong.member("code") == "body_too_large" || tooLong.member("code") == "inflation_ratio")
        let members = Gzip.compress(Array(#"{"events":["#.utf8)) + Gzip.compress(Array("]}".utf8))
        #expect(try await probe.post(members, headers: gzip).status == 200)
        let trailed = Gzip.compress(Array(Batch.of(1).utf8)) + [0, 0, 0]
        #expect(try await probe.post(trailed, headers: gzip).member("code") == "invalid_gzip")
        #expect(try probe.spooled().count == 50)
    }

    @Test func `requests that follow each other without waiting are answered in order`() async throws {
        let probe = try EndpointProbe()
        var bytes: [UInt8] = []
        for number in 0..<30 { bytes += EndpointProbe.request(Array(Batch.of(1, prefix: "r\(number)-").utf8)) }
        bytes += EndpointProbe.request(Array("nonsense".utf8), headers: ["Connection: close"])
        let answers = try await probe.exchange(bytes, endsSending: false)
        #expect(answers.map(\.status) == [Int](repeating: 200, count: 30) + [400])
        for number in 0..<30 { #expect(answers[number].body.contains("r\(number)-0")) }
        #expect(try probe.spooled().count == 30)
    }

    /// Case C32.
    @Test func `the same batch twice is taken twice, with the ids unchanged`() async throws {
        let probe = try EndpointProbe()
        async let first = probe.post(Batch.of(3))
        async let second = probe.post(Batch.of(3))
        #expect(try await [first.status, second.status] == [200, 200])
        #expect(try probe.lines().compactMap(SpooledLines.id).sorted() == ["e0", "e0", "e1", "e1", "e2", "e2"])
    }

    /// Case C30.
    @Test func `a client that goes away leaves the endpoint and whole batches`() async throws {
        let probe = try EndpointProbe()
        let request = EndpointProbe.request(Array(Batch.of(1, prefix: "gone").utf8))
        try await onThread {
            for cut in [10, 60, request.count - 5, request.count] {
                for resets in [false, true] {
                    for _ in 0..<20 {
                        let socket = probe.connect()
                        if resets { socket.resetWhenClosed() }
                        socket.send(request[..<cut])
                    }
                }
            }
        }
        #expect(try await probe.post(Batch.of(1, prefix: "after")).status == 200)
        let ids = try probe.spooled().count
        #expect((1...41).contains(ids))
    }

    @Test func `what clients had to drop is counted by reason`() async throws {
        let probe = try EndpointProbe()
        _ = try await probe.post(#"{"events":[],"drops":{"expired":3,"overflow":10,"made_up":2,"storage":-1}}"#)
        #expect(probe.metric(#"sluice_endpoint_client_drops_total{reason="expired"}"#) == 3)
        #expect(probe.metric(#"sluice_endpoint_client_drops_total{reason="overflow"}"#) == 10)
        #expect(probe.metric(#"sluice_endpoint_client_drops_total{reason="other"}"#) == 2)
    }

    @Test func `nothing of a body, an id or a token is in the log`() async throws {
        let probe = try EndpointProbe()
        let marked = Batch.event("MARKER-ID", ["anonymous_id": #""MARKER@x""#, "properties": #"{"screen":"MARKER"}"#])
        _ = try await probe.post(Batch.body(marked), headers: ["Authorization: Bearer MARKER", "X-User-ID: MARKER"])
        _ = try await probe.post("{\"events\":[MARKER", headers: ["X-Client-ID: MARKER"])
        for entry in probe.log.entries { #expect(!"\(entry)".contains("MARKER")) }
        #expect(!probe.registry.text().contains("MARKER"))
    }
}

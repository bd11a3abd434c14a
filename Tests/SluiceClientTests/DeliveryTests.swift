// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport
import Testing

struct DeliveryTests {
    @Test func `events leave oldest first, in bounded batches, and then are gone`() async throws {
        let fixture = try ClientFixture()
        fixture.configuration.clientID = "ios-prod"
        let client = try await fixture.consented()
        var ids: [String] = []
        for _ in 0..<250 { ids.append(try #require(await client.track("tapped").eventID)) }
        let result = await client.flush()
        #expect(result.accepted == 250 && result.end == .finished)
        #expect(fixture.endpoint.batches.map(\.count) == [100, 100, 50])
        #expect(fixture.endpoint.batches.flatMap { $0 } == ids)
        #expect(try fixture.queued().isEmpty)
        let headers = try #require(fixture.endpoint.requests.first?.headers)
        #expect(headers["Content-Type"] == "application/json" && headers["X-Client-ID"] == "ios-prod")
        #expect(headers["Authorization"] == nil)
    }

    @Test func `the same bytes are sent again after a failure, and nothing before its time`() async throws {
        let fixture = try ClientFixture(FakeEndpoint(then: [nil, .page(200), .refusal(500), nil]))
        let client = try await fixture.consented()
        await client.track("tapped", ["text": "é"])
        let bytes = try #require(try fixture.queued().first)
        for request in 1...4 {
            #expect(await client.flush().end == .waiting)
            #expect(await client.flush().requests == 0)
            #expect(fixture.endpoint.requests.count == request)
            fixture.waitOut()
        }
        #expect(await client.flush().accepted == 1)
        for request in fixture.endpoint.requests { #expect(request.text.contains(bytes)) }
        #expect(Set(fixture.endpoint.requests.map(\.text)).count == 5, "each attempt has its own client_sent_at")
    }

    @Test func `an outage of a day removes nothing, and asks rarely`() async throws {
        let isUp = Lock(false)
        let fixture = try ClientFixture(
            FakeEndpoint { isUp.withLock { $0 } ? .accepting($1.ids) : $0 % 2 == 0 ? .refusal(500) : .refusal(503) }
        )
        let client = try await fixture.consented()
        for _ in 0..<300 { await client.track("tapped") }
        for _ in 0..<(24 * 60) {
            await client.flush()
            fixture.clock.advance(milliseconds: 60_000)
        }
        #expect(await client.diagnostics().queuedEvents == 300)
        #expect((20...120).contains(fixture.endpoint.requests.count))
        isUp.withLock { $0 = true }
        fixture.waitOut()
        #expect(await client.flush().accepted == 300)
        #expect(await client.diagnostics().drops.isEmpty)
    }

    @Test func `Retry-After holds over a launch`() async throws {
        let fixture = try ClientFixture(FakeEndpoint(then: [.refusal(429, retryAfter: "120")]))
        let client = try await fixture.consented()
        await client.track("tapped")
        #expect(await client.flush().end == .waiting)
        let launched = try fixture.launch()
        fixture.clock.advance(milliseconds: 119_000)
        #expect(await launched.flush().requests == 0)
        fixture.clock.advance(milliseconds: 1000)
        #expect(await launched.flush().accepted == 1)
    }

    @Test func `verdicts are per event: refused ones go to quarantine, bounded, and are never sent again`() async throws
    {
        let fixture = try ClientFixture(
            FakeEndpoint { _, request in
                let bad = request.events.indices.filter { request.events[$0]["event"] as? String == "bad" }
                let good = request.ids.indices.filter { !bad.contains($0) }.map { request.ids[$0] }
                return .accepting(good, rejecting: bad.map { ($0, "unsupported_event") })
            }
        )
        fixture.configuration.limits.quarantinedEvents = 5
        let client = try await fixture.consented()
        for number in 0..<20 { await client.track(number % 2 == 0 ? "bad" : "good") }
        let result = await client.flush()
        #expect(result.accepted == 10 && result.rejected == 10)
        let seen = await client.diagnostics()
        #expect(seen.queuedEvents == 0 && seen.quarantined == ["unsupported_event": 5] && seen.drops == [.rejected: 10])
        fixture.waitOut()
        await client.flush()
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test func `a refusal of the whole request is narrowed down to the event that causes it`() async throws {
        for status in [400, 413] {
            let fixture = try ClientFixture(
                FakeEndpoint { $1.text.contains("poison") ? .refusal(status) : .accepting($1.ids) }
            )
            let client = try await fixture.consented()
            for number in 0..<300 { await client.track(number == 77 ? "poison" : "good") }
            for _ in 0..<10 {
                await client.flush()
                fixture.waitOut()
            }
            let seen = await client.diagnostics()
            #expect(seen.queuedEvents == 0)
            #expect(seen.quarantined.values.reduce(0, +) == 1)
            let accepted = fixture.endpoint.requests.filter { !$0.text.contains("poison") }.flatMap(\.ids)
            #expect(accepted.count == 299 && Set(accepted).count == 299)
            #expect(fixture.endpoint.requests.count < 40)
        }
    }

    @Test func `a server that refuses every request loses almost nothing, and is asked rarely`() async throws {
        let fixture = try ClientFixture(FakeEndpoint { _, _ in .refusal(400, "forbidden_field") })
        let client = try await fixture.consented()
        for _ in 0..<200 { await client.track("tapped") }
        for _ in 0..<240 {
            await client.flush()
            fixture.clock.advance(milliseconds: 60_000)
        }
        #expect(fixture.endpoint.requests.count < 60)
        #expect(await client.diagnostics().queuedEvents > 180)
    }

    @Test func `an event that a server stumbles over does not hold up the others for ever`() async throws {
        let fixture = try ClientFixture(
            FakeEndpoint { $1.text.contains("poison") ? .refusal(500) : .accepting($1.ids) }
        )
        let client = try await fixture.consented()
        await client.track("poison")
        for _ in 0..<50 { await client.track("good") }
        for _ in 0..<20 {
            await client.flush()
            fixture.waitOut()
        }
        #expect(try fixture.queued().map(TrackingTests.name) == ["poison"])
    }

    @Test(arguments: [401, 403, 404, 405, 415])
    func `credentials and addresses that are refused are tried again in an hour, and nothing is lost`(status: Int)
        async throws
    {
        let fixture = try ClientFixture(FakeEndpoint(then: [.refusal(status)]))
        let client = try await fixture.consented()
        await client.track("tapped")
        await client.flush()
        fixture.clock.advance(milliseconds: 3_599_000)
        #expect(await client.flush().requests == 0)
        fixture.clock.advance(milliseconds: 1000)
        #expect(await client.flush().accepted == 1)
    }

    /// Case C86.
    @Test func `many flushes at once are one: no event in two batches, and all end`() async throws {
        let fixture = try ClientFixture(
            FakeEndpoint { number, request in
                await Task.yield()
                if number == 1 { throw FakeEndpoint.Unreachable() }
                return .accepting(request.ids)
            }
        )
        let client = try await fixture.consented()
        for _ in 0..<150 { await client.track("tapped") }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask { await client.flush() }
                group.addTask { await client.track("tapped") }
            }
        }
        fixture.waitOut()
        await client.flush()
        #expect(await client.diagnostics().queuedEvents == 0)
        let batches = fixture.endpoint.batches
        let ids = batches.enumerated().filter { $0.offset != 1 }.flatMap(\.element)
        #expect(ids.count == 160 && Set(ids).count == 160)
    }

    @Test func `a cancelled flush keeps its events, and the next one sends them`() async throws {
        let asked = AsyncStream<Void>.makeStream()
        let fixture = try ClientFixture(
            FakeEndpoint { number, request in
                if number > 0 { return .accepting(request.ids) }
                asked.continuation.yield()
                try await Task.sleep(for: .seconds(600))
                throw FakeEndpoint.Unreachable()
            }
        )
        let client = try await fixture.consented()
        await client.track("tapped")
        let flush = Task { await client.flush() }
        for await _ in asked.stream { break }
        flush.cancel()
        #expect(await flush.value.end == .cancelled)
        #expect(await client.flush().accepted == 1)
        #expect(fixture.endpoint.batches[0] == fixture.endpoint.batches[1])
    }

    @Test func `what a process has claimed is left alone until its lease is over`() async throws {
        let asked = AsyncStream<Void>.makeStream()
        let answer = AsyncStream<Void>.makeStream()
        let fixture = try ClientFixture(
            FakeEndpoint { number, request in
                if number == 0 {
                    asked.continuation.yield()
                    for await _ in answer.stream { break }
                }
                return .accepting(request.ids)
            }
        )
        let client = try await fixture.consented()
        await client.track("a")
        async let flushed = client.flush()
        for await _ in asked.stream { break }
        let other = try fixture.launch()
        #expect(await other.flush().requests == 0)
        await other.track("b")
        #expect(await other.flush().accepted == 1)
        // As after a kill of the first process.
        fixture.clock.advance(milliseconds: 120_001)
        #expect(await other.flush().accepted == 1)
        answer.continuation.yield()
        #expect(await flushed.accepted == 1)
        #expect(fixture.endpoint.batches[0] == fixture.endpoint.batches[2])
        #expect(try fixture.queued().isEmpty)
    }

    @Test func `drop counts travel with the next batch, and are subtracted only when it is acknowledged`() async throws
    {
        let fixture = try ClientFixture(FakeEndpoint(then: [nil, .page(200)]))
        let client = try await fixture.consented()
        for _ in 0..<3 { await client.track("Bad Name") }
        await client.track("good")
        for _ in 0..<3 {
            await client.flush()
            fixture.waitOut()
        }
        #expect(fixture.endpoint.requests.map(\.drops) == Array(repeating: ["invalid": 3], count: 3))
        #expect(await client.diagnostics().drops.isEmpty)
        await client.track("good")
        await client.flush()
        #expect(fixture.endpoint.requests.last?.drops == [:])
    }

    @Test func `automatic delivery sends by itself, and again what an earlier launch left`() async throws {
        let asked = AsyncStream<[String]>.makeStream()
        let fixture = try ClientFixture(
            FakeEndpoint { _, request in
                asked.continuation.yield(request.ids)
                return .accepting(request.ids)
            }
        )
        let left = try #require(await fixture.consented().track("left").eventID)
        fixture.configuration.delivery = .automatic(after: .milliseconds(1), events: 20)
        let client = try fixture.launch()
        var answers = asked.stream.makeAsyncIterator()
        #expect(await answers.next() == [left])
        let id = try #require(await client.track("tapped").eventID)
        #expect(await answers.next() == [id])
    }
}

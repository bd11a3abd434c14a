// SPDX-License-Identifier: Apache-2.0
import SluiceClient
import SluiceSystem
import Testing

/// The Swift client's pure parts do what each vector says.
struct ClientVectorTests {
    private func encoded(_ input: VectorValue) throws -> (bytes: [UInt8], malformedProperties: [String]) {
        try Envelope(
            event: input.text("event"),
            eventID: input.text("event_id"),
            occurredAt: input.integer("occurred_at"),
            anonymousID: input.text("anonymous_id"),
            userID: input["user_id"]?.text,
            sessionID: input.text("session_id"),
            sequence: input.integer("sequence"),
            appVersion: input.text("app_version"),
            buildNumber: input.text("build_number"),
            platform: input.text("platform"),
            schemaVersion: input.integer("schema_version"),
            experiments: Dictionary(
                uniqueKeysWithValues: (input["experiments"]?.textsByName ?? []).map { ($0.name, $0.text) }
            ),
            properties: SluiceValue.properties(of: input)
        ).encoded()
    }

    private func checkEnvelopes(_ file: String) throws {
        for vector in try Vectors.lines(file) {
            guard let envelope = vector["envelope"]?.text else { continue }
            let name = try vector.text("name")
            let input = try vector.require("input")
            let (bytes, malformed) = try encoded(input)
            #expect(bytes.elementsEqual(envelope.utf8), "\(name): \(Self.text(bytes))")
            #expect(bytes.count <= SluiceLimits().eventBytes, "\(name)")
            // A name whose strings Swift cannot hold was never given to the client.
            let given = input.unholdableProperties
            let expected = (vector["malformed"]?.texts ?? []).filter { !given.contains($0) }
            #expect(malformed.map { Array($0.utf8) } == expected.map { Array($0.utf8) }, "\(name)")
        }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes.prefix(2000), as: UTF8.self) }

    @Test func `each envelope has the vectors' bytes`() throws { try checkEnvelopes("encode.jsonl") }
    @Test func `malformed properties are left out and named`() throws { try checkEnvelopes("reject.jsonl") }

    @Test func `events that break a rule are dropped for the stated reason`() throws {
        var dropped = 0
        for vector in try Vectors.lines("reject.jsonl") {
            guard let reason = vector["drop"]?.text else { continue }
            let name = try vector.text("name")
            let input = try vector.require("input")
            dropped += 1
            if reason == DropReason.tooLarge.rawValue {
                #expect(try encoded(input).bytes.count > SluiceLimits().eventBytes, "\(name)")
            } else {
                let isName = try EnvelopeRules.isName(input.text("event"))
                let properties = try input.require("properties").members.count
                #expect(!isName || properties > EnvelopeRules.maximumProperties, "\(name)")
            }
        }
        #expect(dropped > 10)
    }

    @Test func `doubles have the ECMAScript form, and only safe ones are properties`() throws {
        for vector in try Vectors.lines("numbers.jsonl") {
            let number = try Double(bitPattern: #require(UInt64(vector.text("bits"), radix: 16)))
            #expect(NumberText.text(number) == vector["text"]?.text)
            #expect(EnvelopeRules.isWritable(.number(number)) == (vector["property"] == nil), "\(number)")
        }
    }

    @Test func `ids come from 16 random bytes`() throws {
        for vector in try Vectors.lines("ids.jsonl") {
            let random = try vector.text("random")
            let high = try #require(UInt64(random.prefix(16), radix: 16))
            let low = try #require(UInt64(random.suffix(16), radix: 16))
            #expect(try EventID.text(high, low) == vector.text("id"))
            var draws = [high, low]
            #expect(try EventID.make { draws.removeFirst() } == vector.text("id"))
        }
    }

    @Test func `a queue is cut into requests of one user each`() throws {
        for vector in try Vectors.lines("batch.jsonl") {
            var rows: [(size: Int, user: String?)] = []
            for run in try vector.require("rows").elements {
                rows += try Array(repeating: (run.integer("size"), run["user"]?.text), count: run.integer("count"))
            }
            let name = try vector.text("name")
            for expected in try vector.require("batches").elements {
                let user = try #require(rows.first).user
                let own = rows.indices.filter { Self.isSame(rows[$0].user, user) }
                let counts = try BatchBody.cut(
                    sizes: own.map { rows[$0].size },
                    maximumEvents: vector.integer("maximum_events"),
                    maximumBytes: vector.integer("maximum_bytes")
                )
                #expect(try counts.first == expected.integer("count"), "\(name)")
                #expect(Self.isSame(expected["user"]?.text, user))
                let taken = Set(own.prefix(counts.first ?? 0))
                rows = rows.indices.filter { !taken.contains($0) }.map { rows[$0] }
            }
            #expect(rows.isEmpty)
        }
    }

    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        left.map { Array($0.utf8) } == right.map { Array($0.utf8) }
    }

    @Test func `a request's body has the vectors' bytes`() throws {
        for vector in try Vectors.lines("body.jsonl") {
            var drops: [String: Int] = [:]
            for (reason, count) in try vector.require("drops").members { drops[reason] = count.integer }
            let body = try BatchBody.encode(
                events: vector.require("events").texts.map { Array($0.utf8) },
                drops: drops,
                clientSentAt: vector.integer("client_sent_at")
            )
            #expect(try body.elementsEqual(vector.text("body").utf8))
        }
    }

    @Test func `answers mean what the vectors say`() throws {
        for vector in try Vectors.lines("classify.jsonl") {
            let name = try vector.text("name")
            var fields: [String: String] = [:]
            for (field, value) in try vector.require("headers").textsByName { fields[field.lowercased()] = value }
            let answer = try EndpointAnswer(
                status: vector.integer("status"),
                contentType: fields["content-type"],
                retryAfter: fields["retry-after"],
                date: fields["date"],
                body: Array(vector.text("body").utf8)
            )
            let verdict = try answer.verdict(now: vector.integer("now"))
            let expected = try vector.require("expect")
            try #require(try verdict.kind == expected.text("verdict"), "\(name): \(verdict)")
            switch verdict {
            case .processed: try checkOutcome(of: verdict, vector.require("ids").texts, expected, name)
            case .invalid(let code): #expect(code == expected["code"]?.text, "\(name)")
            case .tooLarge(let isFinal): #expect(isFinal == expected["final"]?.isTrue, "\(name)")
            case .later(let seconds): #expect(seconds == expected["seconds"]?.integer, "\(name)")
            default: break
            }
        }
    }

    private func checkOutcome(
        of verdict: AnswerVerdict,
        _ ids: [String],
        _ expected: VectorValue,
        _ name: String
    ) throws {
        let outcome = DeliveryPolicy(maximumBatchEvents: 100).outcome(
            of: verdict,
            batch: ids.map { ClaimedEvent(eventID: $0, envelope: [], attempts: 1) },
            hasToken: false,
            state: DeliveryState(batchLimit: 100),
            random: 0
        )
        #expect(try outcome.accepted == expected.require("accepted").texts, "\(name)")
        #expect(try outcome.kept == expected.require("unnamed").texts, "\(name)")
        let rejected = try expected.require("rejected").textsByName.sorted { $0.name < $1.name }
        #expect(outcome.rejected.map(\.eventID).sorted() == rejected.map(\.name), "\(name)")
        for (id, code) in rejected { #expect(outcome.rejected.first { $0.eventID == id }?.code == code, "\(name)") }
    }

    @Test func `waits after failures are the vectors'`() throws {
        for vector in try Vectors.lines("backoff.jsonl") {
            let random = try #require(UInt64(vector.text("random"), radix: 16))
            let failures = try vector.integer("failures")
            #expect(try Backoff.delay(afterFailures: failures, random: random) == Int64(vector.integer("milliseconds")))
        }
    }

    @Test func `Retry-After is read as the vectors read it`() throws {
        for vector in try Vectors.lines("retry_after.jsonl") {
            let value = try vector.text("value")
            #expect(try RetryAfter.seconds(value, now: vector.integer("now")) == vector["seconds"]?.integer, "\(value)")
        }
    }
}

extension SluiceValue {
    /// A property's value as the vectors write it; nil for strings that Swift cannot hold.
    init?(_ value: VectorValue) throws {
        switch value {
        case .string(let text): self = .string(text)
        case .bool(let isTrue): self = .bool(isTrue)
        default:
            if let digits = value["integer"]?.text {
                self = .integer(try #require(Int(digits)))
            } else if let bits = value["double"]?.text {
                self = .number(Double(bitPattern: try #require(UInt64(bits, radix: 16))))
            } else if let text = value["repeat"]?.text {
                self = .string(String(repeating: text, count: try value.integer("count")))
            } else {
                _ = try value.text("utf16")
                return nil
            }
        }
    }

    /// The properties of an input that Swift can hold.
    static func properties(of input: VectorValue) throws -> [String: SluiceValue] {
        var properties: [String: SluiceValue] = [:]
        for (name, value) in input["properties"]?.members ?? [] { properties[name] = try SluiceValue(value) }
        return properties
    }
}

extension VectorValue {
    /// Names of an input's properties whose strings are no Unicode text, which Swift has no way to hold.
    var unholdableProperties: [String] {
        (self["properties"]?.members ?? []).filter { $0.value["utf16"] != nil }.map(\.name)
    }
}

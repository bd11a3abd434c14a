// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// The whole path: phones, endpoint, relay, GraphJSON's stand-in.
@Suite(.timeLimit(.minutes(5)))
struct EndpointPathTests {
    private let folder = TemporaryFolder()
    private static let data: String? = {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let path = "/\(root)/../shared/data"
        return (try? FileStatus(of: "\(path)/ecom_envelopes.py")) == nil ? nil : path  // elsewhere: the test is skipped
    }()

    private func relay(_ words: String...) throws -> ProcessRunner.Result {
        try ProcessRunner(environment: ["GRAPHJSON_API_KEY": "test-key"]).run(
            "sluice-relay",
            words + ["--spool", folder.path("spool")],
            seconds: 300
        )
    }

    @Test func `an unlisted event is kept, replayed once it is listed, and what is removed never leaves`() throws {
        let stub = try StubProcess()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(spool: folder.path("spool"), contract: contract)
        let unlisted = EndpointProcess.event("later").replacing("screen_view", with: "chat_opened")
        let answer = try endpoint.client().post(
            "{\"events\":[\(EndpointProcess.event("now", #","password":"hunter2""#)),\(unlisted)]}"
        )
        #expect(answer?.body.contains(#""accepted":["now","later"]"#) == true)
        #expect(answer?.body.contains(#""removed":[{"index":0,"names":["password"]}]"#) == true)
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)

        #expect(try relay("drain", "--graphjson-url", stub.url).code == 0)
        #expect(try stub.events().map(\.id) == ["now"])
        let listed = EndpointProcess.contract.replacing("events: {", with: "events: { chat_opened: { properties: {} },")
        let better = try folder.write(listed, to: "better.json5")
        let replayed = try relay("quarantine", "replay", "--contract", better)
        #expect(replayed.code == 0, "\(replayed.errors)")
        #expect(
            replayed.lines.dropFirst() == [
                "  1 put back: unsupported_event, event chat_opened, release 1.2.3 (45)",
                "  1 without screen of event chat_opened, which the contract removes",
            ]
        )
        #expect(try relay("drain", "--graphjson-url", stub.url).code == 0)
        #expect(try stub.events().map(\.id) == ["now", "later"])
        #expect(try relay("status").output.contains("(balanced)"))
    }

    @Test func `a backend's fact is delivered and a phone's is not`() throws {
        let secret = String(repeating: "0123456789abcdef", count: 3)
        let key = try folder.write(secret, to: "key")
        let stub = try StubProcess()
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: contract,
            settings: [
                "SLUICE_AUTH_ALGORITHM": "HS256", "SLUICE_AUTH_KEY_FILES": key, "SLUICE_AUTH_SERVER_ROLE_CLAIM": "role",
            ]
        )
        let fact =
            #"{"events":[{"event":"purchase_completed","event_id":"paid","occurred_at":\#(SystemClock.system.wallSeconds),"#
            + #""schema_version":1,"user_id":"u","properties":{"amount_cents":999}}]}"#
        #expect(try endpoint.client().post(fact)?.body.contains("server_only_event") == true)
        let token = TokenMint(.hs256, key: Array(secret.utf8)).token(#"{"sub":"billing","role":"server"}"#)
        let answer = try endpoint.client().post(fact, headers: ["Authorization: Bearer \(token)"])
        #expect(answer?.body.contains(#""accepted":["paid"]"#) == true)
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
        #expect(try relay("drain", "--graphjson-url", stub.url).code == 0)
        #expect(try stub.events().map(\.id) == ["paid"])
    }

    @Test(.enabled(if: data != nil, "needs ../shared/data"))
    func `the whole clickstream posted by eight clients arrives, each event once`() async throws {
        let data = try #require(Self.data)
        let made = try ProcessRunner().run("/usr/bin/env", ["python3", "\(data)/ecom_envelopes.py", "--batch", "20"])
        let bodies = made.output.split(separator: "\n").map(String.init)
        let stub = try StubProcess()
        let endpoint = try EndpointProcess(
            spool: folder.path("spool"),
            contract: "\(data)/contract.ecom.json5",
            settings: ["SLUICE_CLOCK_MAX_AGE_ACTION": "off"]
        )
        let port = endpoint.port
        let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await onThread {
                        let client = try #require(EndpointClient(port: port))
                        var accepted = 0
                        for index in stride(from: number, to: bodies.count, by: 8) {
                            let answer = try #require(client.post(bodies[index]))
                            #expect(answer.status == 200 && answer.body.contains(#""rejected":[]"#))
                            let list = answer.body.split(separator: "\"rejected\"")[0]
                            accepted += list.split(separator: "\",\"").count - 1
                        }
                        return accepted
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(accepted >= 31_106)
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
        let drained = try relay("drain", "--graphjson-url", stub.url)
        #expect(drained.code == 0, "\(drained.errors)")
        let events = try stub.events()
        #expect(events.count == 31_106)
        #expect(Set(events.map(\.id)).count == 31_106)
        #expect(try relay("status").output.contains("(balanced)"))
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
struct EndpointServeTests {
    private let folder = TemporaryFolder()

    private func endpoint(_ settings: [String: String] = [:], admin: String = "off") throws -> EndpointProcess {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        return try EndpointProcess(spool: folder.path("spool"), contract: contract, settings: settings, admin: admin)
    }

    private func get(_ path: String, _ port: UInt16) throws -> RawAnswer {
        let socket = try #require(LoopbackSocket.connected(to: port))
        socket.limitReceiving(seconds: 20)
        socket.send(Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
        return try #require(RawAnswer.all(socket.receiveAll()).first)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `it takes events and ends in good order on a signal`(signal: Int32) throws {
        let endpoint = try endpoint()
        let answer = try #require(try endpoint.client().post(EndpointProcess.batch(["a", "b"])))
        #expect(answer.status == 200)
        #expect(answer.body.contains(#""accepted":["a","b"]"#))
        kill(endpoint.process.id, signal)
        #expect(endpoint.process.result(seconds: 20).code == 0)
        #expect(try SpooledLines.all(in: endpoint.spool).compactMap(SpooledLines.id) == ["a", "b"])
        #expect(try FileSystem.names(in: "\(endpoint.spool)/incoming").isEmpty)
        let status = try ProcessRunner().run("sluice-relay", ["status", "--spool", endpoint.spool])
        #expect(status.output.contains("(balanced)"))
    }

    /// Case C101.
    @Test(arguments: [0, 3, 10, 30, 100])
    func `a stop signal in the first moments is not lost`(milliseconds: UInt32) throws {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let words = [
            "serve", "--spool", folder.path("spool"), "--contract", contract, "--listen", "127.0.0.1:0", "--admin",
            "off",
        ]
        let process = try ProcessRunner().start("sluice-endpoint", words)
        usleep(milliseconds * 1000)  // the moment is the subject
        process.terminate()
        // Before the program's first line the kernel ends it itself.
        #expect([0, 143].contains(process.result(seconds: 20).code))
    }

    @Test func `health, readiness and metrics are on the admin listener`() throws {
        let endpoint = try endpoint(admin: "127.0.0.1:0")
        #expect(endpoint.process.wait(seconds: 10) { endpoint.process.errors.contains("admin.address") })
        let errors = endpoint.process.errors
        let start = try #require(errors.firstRange(of: #""admin.address":"127.0.0.1:"#)?.upperBound)
        let admin = try #require(UInt16(errors[start...].prefix { $0.isNumber }))
        _ = try endpoint.client().post(EndpointProcess.batch(["a"]))
        #expect(try get("/healthz", admin).status == 200)
        #expect(try get("/readyz", admin).status == 200)
        let metrics = try get("/metrics", admin).body
        for line in [
            #"sluice_endpoint_requests_total{status="200"} 1"#, "sluice_endpoint_commit_duration_seconds_count 1",
            #"sluice_endpoint_events_total{event="screen_view",result="accepted",code=""} 1"#,
            #"sluice_endpoint_contract_info{version="t-1","#, "process_resident_anonymous_memory_bytes",
        ] {
            #expect(metrics.contains(line))
        }
        #expect(try get("/metrics", endpoint.port).status == 404)
    }

    @Test func `SIGHUP takes a new contract and refuses a bad one`() throws {
        let endpoint = try endpoint()
        let client = try endpoint.client()
        let checkout =
            #"{"events":[{"event":"checkout","event_id":"c","occurred_at":\#(SystemClock.system.wallSeconds),"#
            + #""anonymous_id":"a","session_id":"s","app_version":"1","build_number":"1","platform":"ios","schema_version":1}]}"#
        let bad = EndpointProcess.contract.replacing("on_unknown:", with: "on_unknwon:")
        try folder.write(bad, to: "contract.json5")
        endpoint.process.hangUp()
        #expect(endpoint.process.wait(seconds: 10) { endpoint.process.errors.contains("on_unknwon") })
        #expect(endpoint.process.errors.contains("Configuration refused; the old one stays"))
        #expect(client.post(EndpointProcess.batch(["a"]))?.status == 200)

        let better = EndpointProcess.contract.replacing("events: {", with: "events: { checkout: { properties: {} },")
        try folder.write(
            better.replacing("t-1", with: "t-2").replacing("\"quarantine\"", with: "\"reject\""),
            to: "contract.json5"
        )
        endpoint.process.hangUp()
        #expect(endpoint.process.wait(seconds: 10) { endpoint.process.errors.contains("read again") })
        #expect(client.post(checkout)?.body.contains(#""accepted":["c"]"#) == true)
        endpoint.process.terminate()
        #expect(endpoint.process.result(seconds: 20).code == 0)
        #expect(try SpooledLines.all(in: endpoint.spool).last?.contains(#""contract":{"version":"t-2""#) == true)
    }

    @Test func `a wrong start ends with the code that says why and touches nothing`() throws {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let runner = ProcessRunner()
        let spool = folder.path("spool")
        let none = try runner.run("sluice-endpoint", ["serve", "--spool", spool])
        #expect(none.code == 78)
        #expect(none.errors.contains("endpoint.contract"))
        let missing = try runner.run("sluice-endpoint", ["serve", "--spool", spool, "--contract", folder.path("none")])
        #expect(missing.code == 78)
        #expect(!exists(spool))
        let taken = LoopbackSocket.bound(backlog: 1)
        let words = [
            "serve", "--spool", spool, "--contract", contract, "--admin", "off", "--listen", "127.0.0.1:\(taken.port)",
        ]
        let busy = try runner.run("sluice-endpoint", words)
        #expect(busy.code == 74)
        #expect(busy.errors.contains("Address already in use"))
    }

    @Test func `check lists every problem with its file and key`() throws {
        let contract = try folder.write("{ contract_version: 1, events: { a: { propertis: {} } } }", to: "bad.json5")
        let key = try folder.write("short", to: "key")
        let configuration = try folder.write(
            """
            { endpoint: { contract: "\(contract)" }, auth: { algorithm: "HS256", key_files: ["\(key)"] } }
            """,
            to: "sluice.json5"
        )
        let result = try ProcessRunner().run("sluice-endpoint", ["check", "--config", configuration])
        #expect(result.code == 78)
        for part in ["contract_version", "schema_versions", "propertis", "auth.key_files", key, contract] {
            #expect(result.errors.contains(part), "\(part) in \(result.errors)")
        }
        let good = try folder.write(EndpointProcess.contract, to: "good.json5")
        let fine = try ProcessRunner().run("sluice-endpoint", ["check", "--contract", good])
        #expect(fine.code == 0)
        #expect(fine.output.contains("in order"))
    }

    @Test func `openapi writes the document of the contract`() throws {
        let contract = try folder.write(EndpointProcess.contract, to: "contract.json5")
        let result = try ProcessRunner().run("sluice-endpoint", ["openapi", "--contract", contract])
        #expect(result.code == 0)
        #expect(result.output.contains(#""openapi": "3.1.0""#))
        #expect(result.output.contains(#""event.screen_view""#))
    }

    /// Case C74.
    @Test func `nothing of bodies, ids and tokens is logged at the chattiest level`() throws {
        let secret = try folder.write(String(repeating: "MARKERKEY", count: 5), to: "key")
        let endpoint = try endpoint(
            [
                "SLUICE_LOG_LEVEL": "trace", "SLUICE_AUTH_ALGORITHM": "HS256", "SLUICE_AUTH_KEY_FILES": secret,
                "SLUICE_AUTH_TRUSTED_PROXIES": "127.0.0.1",
            ]
        )
        let token = TokenMint(.hs256, key: Array(String(repeating: "MARKERKEY", count: 5).utf8)).token(
            #"{"sub":"MARKERUSER"}"#
        )
        let marked = EndpointProcess.event("MARKERID", #","secret":"MARKERVALUE""#)
        for headers in [
            ["Authorization: Bearer \(token)"], ["Authorization: Bearer MARKERTOKEN"], ["X-User-ID: MARKER@x.y"],
        ] {
            _ = try endpoint.client().post("{\"events\":[\(marked)]}", headers: headers)
        }
        _ = try endpoint.client().post("{\"events\":[MARKERBODY")
        endpoint.process.terminate()
        let result = endpoint.process.result(seconds: 20)
        #expect(result.code == 0)
        #expect(!result.errors.contains("MARKER"))
        #expect(!result.output.contains("MARKER"))
        #expect(!result.errors.contains(String(token.suffix(20))))
    }
}

private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

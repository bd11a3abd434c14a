// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// `sluice-relay erase` with the real programs.
struct EraseCommandTests {
    private let sample: SampleSpool

    init() throws { sample = try SampleSpool() }

    private func envelope(_ id: String, _ event: String, user: String, anonymous: String = "device") -> String {
        """
        {"event":"\(event)","event_id":"\(id)","occurred_at":1796000000,"anonymous_id":"\(anonymous)","session_id":"s",\
        "user_id":"\(user)","app_version":"1","build_number":"1","platform":"ios","schema_version":1,"properties":{}}

        """
    }

    /// Imports events of two users, a tenth of them of an event that the contract does not list.
    private func fill(_ count: Int, prefix: String = "e") throws {
        let contract = try sample.folder.write(
            """
            {
                contract_version: '1', schema_versions: { min: 1, max: 1 }, on_unknown: 'quarantine',
                events: { seen: {} },
            }
            """,
            to: "contract.json5"
        )
        let envelopes = (0..<count).map { number in
            envelope("\(prefix)\(number)", number % 10 == 3 ? "other" : "seen", user: "user-number-\(number / 10 % 2)")
        }
        let result = try ProcessRunner().run(
            "sluice-endpoint",
            ["import", "--contract", contract, "--backfill", "--spool", sample.path],
            input: envelopes.joined()
        )
        #expect(result.code == 0, "\(result.errors)")
    }

    private func erase(_ words: String..., input: String? = nil) throws -> ProcessRunner.Result {
        try ProcessRunner().run("sluice-relay", ["erase"] + words + ["--spool", sample.path], input: input)
    }

    private func counts() throws -> (erased: Int, delivered: Int, quarantined: Int) {
        let status = try SpoolStatus.read(sample.spool)
        #expect(status.problems == [])
        return (status.counts.erased, status.counts.delivered, status.quarantined)
    }

    @Test func `waiting and quarantined records of the person go, the rest arrives, later ones too`() throws {
        try fill(200)
        let stub = try StubProcess()
        #expect(try sample.drain(to: stub).code == 0)
        #expect(try counts().quarantined == 20)
        try fill(100, prefix: "f")
        let rehearsal = try erase("--user-id", "user-number-1", "--dry-run")
        #expect(rehearsal.code == 0)
        #expect(rehearsal.output.hasPrefix("would erase 1 person: records received up to "))
        #expect(rehearsal.output.contains("\nwaiting      50 records, dropped when a relay comes to them\n"))
        #expect(rehearsal.output.contains("\nquarantine   10 records would be removed\n"))
        #expect(try counts().quarantined == 20)
        let done = try erase("--user-id", "user-number-1")
        #expect(done.code == 0, "\(done.errors)")
        #expect(done.output.contains("\nquarantine   10 records removed\n"))
        #expect(done.output.contains("\nnot reached:\n  what GraphJSON has already; ask it"))
        #expect(try counts() == (10, 180, 10))
        #expect(try sample.drain(to: stub).code == 0)
        #expect(try counts() == (60, 225, 15))
        // What comes after the second of the request is new.
        let until = SystemClock.system.wallSeconds
        while SystemClock.system.wallSeconds == until { usleep(10_000) }
        try fill(100, prefix: "g")
        #expect(try sample.drain(to: stub).code == 0)
        #expect(try counts() == (60, 315, 25))
        #expect(try sample.relay("verify").code == 0)
        for text in [done.output, done.errors, rehearsal.output] { #expect(!text.contains("user-number")) }
        let ledger = String(decoding: try FileSystem.contents(of: sample.spool.ledger, limit: 1 << 20), as: UTF8.self)
        #expect(ledger.contains(" audit erase records=10 by=\(getuid()) user="))
        #expect(!ledger.contains("user-number"))
    }

    @Test func `a running relay that holds claims notices`() throws {
        try fill(400)
        // A port that nobody listens on yet.
        let listener = try StubProcess()
        let address = listener.address
        listener.process.kill()
        let relay = try SampleSpool.runner(["SLUICE_RELAY_BACKOFF_MAX_S": "0.5"]).start(
            "sluice-relay",
            ["run", "--spool", sample.path, "--graphjson-url", "http://\(address)", "--admin", "127.0.0.1:0"]
        )
        relay.wait(seconds: 30) {
            (try? SpoolStatus.read(sample.spool).segments.claimed) == 1
                && relay.errors.contains("Destination closed for a while")
        }
        let result = try erase("--user-id", "user-number-1", "--json")
        #expect(result.code == 75, "its quarantine is in the relay's hands")
        #expect(result.output.contains(#""waiting":0,"claimed":180,"removed":0,"#))
        #expect(result.output.contains(#""busy_files":[""#))
        let stub = try StubProcess(listen: address)
        relay.wait(seconds: 60) { (try? SpoolStatus.read(sample.spool).pending) == 0 }
        relay.terminate()
        #expect(relay.result().code == 0)
        #expect(try counts() == (200, 180, 20))
        #expect(try stub.events().allSatisfy { (Int($0.id.dropFirst()) ?? 0) / 10 % 2 == 0 })
        // The relay itself has looked through what it was busy with.
        let again = try erase("--user-id", "user-number-1", "--json")
        #expect(again.code == 0)
        #expect(again.output.contains(#""removed":0,"#))
        #expect(try counts() == (200, 180, 20))
    }

    @Test func `a segment that is being written is reached when it is sealed, what comes later is new`() throws {
        let contract = try sample.folder.write(EndpointProcess.contract, to: "contract.json5")
        let settings = ["SLUICE_SPOOL_SEGMENT_AGE_S": "60"]
        let endpoint = try EndpointProcess(spool: sample.path, contract: contract, settings: settings)
        let client = try endpoint.client()
        #expect(client.post(EndpointProcess.batch((0..<5).map { "before-\($0)" }))?.status == 200)
        let result = try erase("--anonymous-id", "anon-1")
        #expect(result.code == 0)
        #expect(result.output.contains("\nwaiting      5 records, "), "\(result.output)")
        let until = SystemClock.system.wallSeconds
        while SystemClock.system.wallSeconds == until { usleep(10_000) }
        #expect(client.post(EndpointProcess.batch((0..<3).map { "after-\($0)" }))?.status == 200)
        endpoint.process.terminate()
        #expect(endpoint.process.result().code == 0)
        let stub = try StubProcess()
        #expect(try sample.drain(to: stub).code == 0)
        #expect(try counts() == (5, 3, 0))
        #expect(try stub.events().map(\.id).sorted() == (0..<3).map { "after-\($0)" })
    }

    /// `script` gives a program a terminal.
    @Test(.enabled(if: Tool.isInstalled("script"), "needs script"), arguments: [("n", 75, 20), ("y", 0, 10)])
    func `on a terminal it says how many and asks first`(answer: String, code: Int32, quarantined: Int) throws {
        try fill(200)
        let stub = try StubProcess()
        #expect(try sample.drain(to: stub).code == 0)
        let program = ProcessRunner.path(of: "sluice-relay")
        let command = "'\(program)' erase --user-id user-number-1 --spool '\(sample.path)'"
        let result = try ProcessRunner().run(
            try #require(Tool.path(of: "script")),
            ["-qec", command, "/dev/null"],
            input: "\(answer)\n"
        )
        #expect(result.code == code, "\(result.output)")
        #expect(result.output.contains("erase 10 records of 1 person? [y/N]"))
        #expect(try counts().quarantined == quarantined)
    }

    @Test func `killed again and again, it erases each record once`() throws {
        try fill(2000)
        let stub = try StubProcess()
        #expect(try sample.drain(to: stub).code == 0)
        #expect(try counts().quarantined == 200)
        for round in 0..<12 {
            let process = try ProcessRunner().start(
                "sluice-relay",
                ["erase", "--user-id", "user-number-\(round % 2)", "--spool", sample.path]
            )
            usleep(UInt32(2000 + 3000 * round))
            process.kill()
            let found = try counts()
            #expect(found.erased + found.quarantined == 200)
        }
        for user in ["user-number-0", "user-number-1"] { #expect(try erase("--user-id", user).code == 0) }
        #expect(try counts() == (200, 1800, 0))
        #expect(try sample.relay("verify").code == 0)
    }

    @Test func `ids come from standard input, so that nobody sees them in a list of processes`() throws {
        try fill(40)
        let result = try erase("--user-id", "-", input: "user-number-0\r\n\nuser-number-1\n")
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.hasPrefix("erased 2 persons: "))
        #expect(result.output.contains("\nwaiting      40 records, "))
    }

    @Test(arguments: [
        [], ["--user-id", ""], ["--user-id"], ["--user-id", "-", "--anonymous-id", "-"], ["x", "--user-id", "y"],
    ])
    func `a request without a person is a usage error`(words: [String]) throws {
        let result = try ProcessRunner().run("sluice-relay", ["erase"] + words + ["--spool", sample.path])
        #expect(result.code == 64)
        #expect((try? FileStatus(of: sample.spool.erased)) == nil)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceJSON
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct ImportTests {
    private let folder = TemporaryFolder()
    private let runner = ProcessRunner()

    private static let contract = """
        {
          contract_version: "t-1", schema_versions: { min: 1, max: 1 },
          events: {
            screen_view: { properties: { screen: { type: "string" } } },
            paid: { source: "server", properties: { cents: { type: "number" } } },
          },
        }
        """

    private func event(_ id: String, _ event: String = "screen_view", at seconds: Int? = nil, more: String = "")
        -> String
    {
        """
        {"event":"\(event)","event_id":"\(id)","occurred_at":\(seconds ?? SystemClock.system.wallSeconds),\
        "anonymous_id":"a","session_id":"s","app_version":"1","build_number":"1","platform":"ios","schema_version":1\
        \(more),"properties":{}}
        """
    }

    private func run(_ words: [String] = [], input: String? = nil) throws -> ProcessRunner.Result {
        let contract = try folder.write(Self.contract, to: "contract.json5")
        return try runner.run(
            "sluice-endpoint",
            ["import", "--spool", folder.path("spool"), "--contract", contract] + words,
            input: input
        )
    }

    /// The spooled records, in order, without what the test did not put in.
    private func records() throws -> [[String: Any]] {
        let spool = try SpoolFolder.open(folder.path("spool"), role: .reader)
        var records: [[String: Any]] = []
        for name in try FileSystem.names(in: spool.ready) {
            for line in try content(of: "\(spool.ready)/\(name)").split(separator: "\n") {
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                records.append(try #require(object as? [String: Any]))
            }
        }
        return records
    }

    private func content(of path: String) throws -> String {
        let reader = try SegmentReader(opening: path)
        var buffer = ByteBuffer()
        var text = ""
        while true {
            switch try reader.next(into: &buffer) {
            case .frame: text += String(decoding: buffer.bytes, as: UTF8.self)
            case .end: return text
            default: Issue.record("a fresh segment is damaged")
            }
        }
    }

    private func ids() throws -> [String] {
        try records().compactMap { ($0["envelope"] as? [String: Any])?["event_id"] as? String }
    }

    @Test func `lines and bodies from standard input and files end up in sealed segments`() throws {
        let body = "{\"events\":[\(event("b-1")),\(event("b-2"))]}"
        let file = try folder.write("\n\(event("c-1"))\r\n\n\(body)", to: "events.ndjson")
        let result = try run(["-", file], input: "\(event("a-1"))\n")
        #expect(result.code == 0)
        #expect(result.errors == "")
        #expect(result.output.hasPrefix("accepted 4, rejected 0; "))
        #expect(result.lines.count == 1)
        #expect(try ids() == ["a-1", "c-1", "b-1", "b-2"])
    }

    @Test func `a body spread over many lines is taken as one`() throws {
        let body = "{\n  \"events\": [\n    \(event("b-1")),\n    \(event("b-2"))\n  ]\n}\n"
        let result = try run(input: body)
        #expect(result.code == 0)
        #expect(result.output.hasPrefix("accepted 2, rejected 0; "))
        #expect(try ids() == ["b-1", "b-2"])
    }

    @Test func `what is refused is counted by reason and told with its place, and everything else is taken`() throws {
        let input = [
            event("a"), "{", event("b", "nope"), "{\"events\":[\(event("c")),7,\(event("d"))]}",
            event("e", more: ",\"api_key\":\"k\""), event("f", more: ",\"x\":1"), "{\"a\":1e999}", "",
        ].joined(separator: "\n")
        let file = try folder.write(input, to: "events.ndjson")
        let result = try run([file])
        #expect(result.code == 65)
        #expect(
            result.output.hasPrefix(
                "accepted 4 (fields removed 1), rejected 5: forbidden_field 1, invalid_envelope 1, invalid_json 2, "
                    + "unsupported_event 1; "
            )
        )
        #expect(
            result.errors == """
                sluice-endpoint: \(file):2: invalid_json (syntax at byte 1)
                sluice-endpoint: \(file):3: unsupported_event (event)
                sluice-endpoint: \(file):4: events[1]: invalid_envelope
                sluice-endpoint: \(file):5: forbidden_field (api_key)
                sluice-endpoint: \(file):7: invalid_json (invalid_number at byte 5)

                """
        )
        #expect(try ids() == ["a", "c", "d", "f"])
    }

    @Test func `a thousand refusals are counted, and twenty told`() throws {
        let input = (0..<1000).map { _ in "x" }.joined(separator: "\n")
        let result = try run(input: input)
        #expect(result.code == 65)
        #expect(result.output.hasPrefix("accepted 0, rejected 1000: invalid_json 1000; "))
        #expect(result.errors.split(separator: "\n").count == 21)
        #expect(result.errors.hasSuffix("and 980 more\n"))
        #expect(try FileSystem.names(in: folder.path("spool/ready")).isEmpty)
    }

    @Test func `backfill keeps historic times that are set aside otherwise`() throws {
        let old = event("old", at: 1_704_067_200)
        let judged = try run(input: old)
        #expect(judged.code == 0)
        #expect(judged.output.hasPrefix("accepted 1 (set aside 1: occurred_at_too_old 1), rejected 0; "))
        #expect(try records().first?["quarantine"] != nil)
        let backfilled = try run(["--backfill"], input: old)
        #expect(backfilled.output.hasPrefix("accepted 1, rejected 0; "))
        let record = try #require(try records().last)
        #expect(record["timestamp"] as? Int == 1_704_067_200)
        #expect(record["quarantine"] == nil)
    }

    @Test func `events of servers are taken, and their users believed`() throws {
        let paid =
            #"{"event":"paid","event_id":"p","occurred_at":1796000000,"user_id":"usr_1","schema_version":1,"properties":{"cents":5}}"#
        let result = try run(["--backfill"], input: paid)
        #expect(result.code == 0)
        let record = try #require(try records().first)
        #expect(record["trusted"] as? [String: String] == ["user_id": "usr_1"])
        #expect((record["envelope"] as? [String: Any])?["platform"] as? String == "server")
        #expect(record["source"] as? String == "server")
    }

    @Test func `a line longer than a body may be costs only itself`() throws {
        let long = event("x", more: ",\"pad\":\"\(String(repeating: "y", count: 1 << 20))\"")
        let result = try run(input: "\(event("a"))\n\(long)\n\(event("b"))\n")
        #expect(result.code == 65)
        #expect(result.output.hasPrefix("accepted 2, rejected 1: body_too_large 1; "))
        #expect(try ids() == ["a", "b"])
    }

    @Test func `without a contract nothing is touched, exit code 78`() throws {
        let result = try runner.run("sluice-endpoint", ["import", "--spool", folder.path("spool")], input: event("a"))
        #expect(result.code == 78)
        #expect(result.output == "")
        #expect(
            result.errors.hasPrefix(
                "sluice-endpoint: endpoint.contract (--contract, SLUICE_ENDPOINT_CONTRACT) must name"
            )
        )
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(throws: SystemError.self) { try FileStatus(of: folder.path("spool")) }
    }

    @Test func `a contract with problems is told with all of them, exit code 78`() throws {
        let contract = try folder.write("{contract_version: 1,\nevents: {a: {propertys: {}}}}", to: "bad.json5")
        let result = try runner.run(
            "sluice-endpoint",
            ["import", "--spool", folder.path("spool"), "--contract", contract],
            input: event("a")
        )
        #expect(result.code == 78)
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0.hasPrefix("sluice-endpoint: \(contract): line ") })
        #expect(throws: SystemError.self) { try FileStatus(of: folder.path("spool")) }
    }

    @Test func `an input that is not there is told before anything is written, exit code 74`() throws {
        let good = try folder.write(event("a"), to: "good.ndjson")
        let result = try run([good, folder.path("none.ndjson")])
        #expect(result.code == 74)
        #expect(
            result.errors == "sluice-endpoint: \(folder.path("none.ndjson")): open failed: No such file or directory\n"
        )
        #expect(throws: SystemError.self) { try FileStatus(of: folder.path("spool")) }
    }

    @Test func `a folder is no input`() throws {
        let result = try run([folder.path])
        #expect(result.code == 74)
        #expect(result.errors.contains("Is a directory"))
    }

    @Test func `the ledger and the equation know what was imported`() throws {
        _ = try run(input: (0..<500).map { event("e-\($0)") }.joined(separator: "\n"))
        let status = try runner.run("sluice-relay", ["status", "--json", "--spool", folder.path("spool")])
        #expect(status.code == 0)
        #expect(status.output.contains("\"balanced\": true") || status.output.contains("\"balanced\":true"))
    }
}

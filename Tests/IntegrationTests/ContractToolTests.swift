// SPDX-License-Identifier: Apache-2.0
import SluiceSystem
import SluiceTestSupport
import Testing

/// `sluice-endpoint validate`, `contract infer` and `check --against` with the real program.
struct ContractToolTests {
    private let folder = TemporaryFolder()
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let samples = "\(root)/deploy/samples"
    private static let data: String? = {
        let folder = "\(root)/../shared/data"
        return (try? FileStatus(of: "\(folder)/ecom_envelopes.py")) == nil ? nil : folder
    }()

    private func endpoint(_ words: String..., input: String? = nil) throws -> ProcessRunner.Result {
        try ProcessRunner().run("sluice-endpoint", words, input: input, seconds: 300)
    }

    @Test func `validate says what the endpoint would answer, and stores nothing`() throws {
        let result = try endpoint(
            "validate",
            "--accept-clock",
            "--contract",
            "\(Self.samples)/contract.json5",
            "\(Self.samples)/envelopes.ndjson"
        )
        #expect(result.code == 65)
        let file = "\(Self.samples)/envelopes.ndjson"
        #expect(
            result.output == """
                \(file):41 demo-040: without internal_note
                \(file):43 demo-unlisted: set aside: unsupported_event
                \(file):45 demo-email: refused: email_like_value (name)
                \(file):46 demo-type: refused: invalid_property (report_type)
                \(file):47 demo-millis: refused: server_only_event (event)
                \(file):48 demo-key: refused: forbidden_field (api_key)
                accepted 44 (set aside 1: unsupported_event 1; fields removed 1), rejected 4: email_like_value 1, \
                forbidden_field 1, invalid_property 1, server_only_event 1

                """
        )
    }

    @Test func `validate as JSON is the endpoint's answer`() throws {
        let good = """
            {"event":"heartbeat","event_id":"h1","occurred_at":1796000000,"anonymous_id":"a","session_id":"s",\
            "app_version":"1","build_number":"1","platform":"ios","properties":{"uptime_s":1}}
            """
        let body = #"{"events":[\#(good),{"event":"none"}]}"#
        let contract = "\(Self.samples)/contract.json5"
        let result = try endpoint("validate", "--accept-clock", "--json", "--contract", contract, input: body)
        #expect(result.code == 65)
        #expect(
            result.output == """
                {"request_id":"standard input:1","accepted":["h1"],"rejected":[{"index":1,"event_id":null,\
                "code":"invalid_event_id","detail":"event_id"}],"removed":[]}

                """
        )
        let refused = try endpoint("validate", "--json", "--contract", contract, input: #"{"events":7}"#)
        #expect(refused.code == 65)
        #expect(refused.output.contains(#""code":"invalid_batch""#))
        #expect(try endpoint("validate", "--accept-clock", "--contract", contract, input: good).code == 0)
        #expect(try endpoint("validate", "--contract", "/none", input: good).code == 78)
        #expect(try endpoint("validate", "--contract", contract, "/none").code == 74)
    }

    @Test func `a draft takes its own samples, from a file and from a pipe`() throws {
        let file = "\(Self.samples)/envelopes.ndjson"
        let drafted = try endpoint("contract", "infer", file)
        #expect(drafted.code == 65, "two of the samples no contract takes")
        #expect(drafted.errors.contains("\(file):47: invalid_occurred_at (occurred_at)"))
        let text = String(decoding: try FileSystem.contents(of: file, limit: 1 << 20), as: UTF8.self)
        let piped = try endpoint("contract", "infer", input: text)
        #expect(piped.output == drafted.output)
        let draft = try folder.write(drafted.output, to: "draft.json5")
        let good = text.split(separator: "\n").filter { !$0.contains("demo-millis") && !$0.contains("demo-key") }
        let validated = try endpoint(
            "validate",
            "--server",
            "--accept-clock",
            "--contract",
            draft,
            input: good.joined(separator: "\n")
        )
        #expect(validated.code == 0, "\(validated.output)")
        #expect(try endpoint("check", "--contract", draft).code == 0)
    }

    @Test(.enabled(if: data != nil, "needs ../shared/data"))
    func `a draft from the public clickstream takes all of it`() throws {
        let data = try #require(Self.data)
        let made = try ProcessRunner().run("/usr/bin/env", ["python3", "\(data)/ecom_envelopes.py"])
        let drafted = try endpoint("contract", "infer", input: made.output)
        #expect(drafted.code == 0, "\(drafted.errors)")
        #expect(drafted.errors.contains("accepted 31106, rejected 0 by the draft"))
        #expect(drafted.output.contains(#"user_lifecycle: { type: "string", one_of: ["loyal", "new", "returning"], "#))
        #expect(
            drafted.output.split(separator: "\n").filter { $0.hasPrefix("    // ") && $0.hasSuffix(" samples") }.count
                == 19
        )
    }

    @Test func `check tells what a new contract breaks, and by which key`() throws {
        let old = "\(Self.samples)/contract.json5"
        let text = String(decoding: try FileSystem.contents(of: old, limit: 1 << 20), as: UTF8.self)
        #expect(
            try endpoint("check", "--contract", old, "--against", old).lines.last == "nothing changes against sample-1"
        )
        let wider = text.replacing("events: {\n", with: "events: {\n    chat_opened: {},\n", maxReplacements: 1)
        let widened = try endpoint(
            "check",
            "--contract",
            try folder.write(wider, to: "wider.json5"),
            "--against",
            old
        )
        #expect(widened.code == 0)
        #expect(
            widened.output.hasSuffix(
                """
                in order
                widens  events.chat_opened: new: the event was set aside before
                note    contract_version: sample-1 as before, though the contracts differ
                against sample-1: 0 break, 1 widen

                """
            )
        )
        let narrow = text.replacing("max_length: 100, required", with: "max_length: 50, required")
            .replacing(#"["retention", "funnel"]"#, with: #"["retention"]"#).replacing("sample-1", with: "sample-2")
        let narrowed = try endpoint(
            "check",
            "--contract",
            try folder.write(narrow, to: "narrow.json5"),
            "--against",
            old
        )
        #expect(narrowed.code == 65)
        for line in [
            "breaks  events.screen_viewed.properties.name.max_length: 50, was 100",
            #"breaks  events.report_exported.properties.report_type.one_of: "funnel" gone: events with it are refused"#,
        ] { #expect(narrowed.lines.contains { $0 == line }, "\(narrowed.output)") }
        #expect(narrowed.lines.last?.hasSuffix(" break, 0 widen") == true)
        #expect(try endpoint("check", "--contract", old, "--against", "/none").code == 78)
    }
}

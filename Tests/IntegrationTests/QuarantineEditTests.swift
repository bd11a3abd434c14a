// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct QuarantineEditTests {
    private let sample: SampleSpool

    init() throws {
        sample = try SampleSpool()
        try sample.quarantine(["a1", "a2", "a3"], sequence: 0)
        try sample.quarantine(
            ["b1", "b2"],
            sequence: 1,
            reason: "unsupported_event",
            event: "chat_opened",
            admission: "unsupported_event"
        )
    }

    private func contract(_ events: String...) throws -> String {
        let list = events.map { "\($0): {}" }.joined(separator: ", ")
        return try sample.folder.write(
            "{ contract_version: '1', schema_versions: { min: 1, max: 1 }, events: { \(list) } }",
            to: "contract.json5"
        )
    }

    private func balance() throws -> String {
        let result = try sample.relay("status")
        return "\(result.code) \(result.lines.last ?? "")"
    }

    private var readyRecords: String {
        get throws {
            try FileSystem.names(in: sample.spool.ready).map { try sample.relay("inspect", $0, "--records").output }
                .joined()
        }
    }

    @Test func `a rehearsal says what would happen and changes nothing`() throws {
        let before = try sample.content()
        let result = try sample.relay("quarantine", "replay", "--reason", "upstream_rejected", "--dry-run")
        #expect(result.code == 0)
        #expect(
            result.output == """
                would put back 3 records, 0 would fail again and stay, 2 were not chosen
                  3 would go back: upstream_rejected, event screen_viewed, release 1 (1)

                """
        )
        #expect(
            try sample.relay("quarantine", "discard", "--all", "--dry-run").output == """
                would discard 5 records, 0 stay
                  3 would go: upstream_rejected, event screen_viewed, release 1 (1)
                  2 would go: unsupported_event, event chat_opened, release 1 (1)

                """
        )
        #expect(try sample.content() == before)
    }

    @Test func `what is put back is pending again, with its origin and one replay more`() throws {
        #expect(try balance().hasPrefix("0 accepted 5 = "))
        let result = try sample.relay("quarantine", "replay", "--event", "screen_viewed")
        #expect(result.code == 0)
        #expect(
            result.output.hasPrefix("put back 3 records in 1 segment, 0 would fail again and stay, 2 were not chosen\n")
        )
        #expect(result.errors.contains(#""message":"Quarantine changed""#))
        #expect(result.errors.contains(#""quarantine.action":"replay""#))
        #expect(result.errors.contains(#""selection":"event=screen_viewed""#))
        #expect(try balance().contains("quarantined 2 + pending 3 (balanced)"))
        let origin = #"{"origin":{"segment":"\#(sample.name(0))","frame":100,"index":0},"replays":1,"received_at":"#
        #expect(try readyRecords.hasPrefix(origin))
        #expect(try sample.relay("verify").code == 0)
    }

    @Test func `a limit takes the oldest`() throws {
        let result = try sample.relay("quarantine", "discard", "--reason", "upstream_rejected", "--limit", "2")
        #expect(result.output.hasPrefix("discarded 2 records, 3 stay\n"))
        #expect(try balance().contains("discarded 2 + erased 0 + quarantined 3 + pending 0 (balanced)"))
        #expect(try sample.relay("find", "a3").output.hasPrefix("quarantined "))
        #expect(try sample.relay("find", "a1").output == "unknown\n")
    }

    /// Case C78.
    @Test func `one record is put back or given up by its id`() throws {
        #expect(try sample.relay("quarantine", "list", "--id", "a2").output.hasSuffix("1 record in all\n"))
        let replayed = try sample.relay("quarantine", "replay", "--id", "a2")
        #expect(replayed.output.hasPrefix("put back 1 record in 1 segment"))
        #expect(try readyRecords.contains(#""event_id":"a2""#))
        #expect(
            try sample.relay("quarantine", "discard", "--id", "a1", "--id", "b1").output
                .hasPrefix("discarded 2 records, 2 stay\n")
        )
        #expect(try balance().contains("discarded 2 + erased 0 + quarantined 2 + pending 1 (balanced)"))
        #expect(try sample.relay("quarantine", "discard", "--id", "none").output == "discarded 0 records, 2 stay\n")
    }

    @Test func `records that the endpoint set aside need a contract that takes them`() throws {
        let without = try sample.relay("quarantine", "replay", "--reason", "unsupported_event")
        #expect(without.code == 65)
        #expect(without.output.contains("put back 0 records, 2 would fail again"))
        #expect(without.output.contains("2 set aside by the endpoint; name a contract"))
        let unlisted = try contract("screen_viewed")
        let refused = try sample.relay("quarantine", "replay", "--all", "--contract", unlisted)
        #expect(refused.code == 65)
        #expect(refused.output.contains("put back 3 records in 1 segment, 2 would fail again and stay"))
        #expect(refused.output.contains("\n  2 unsupported_event: event of event chat_opened\n"))
        let listed = try contract("screen_viewed", "chat_opened")
        let taken = try sample.relay("quarantine", "replay", "--all", "--contract", listed)
        #expect(taken.code == 0)
        #expect(taken.output.hasPrefix("put back 2 records in 1 segment, 0 would fail"))
        #expect(try balance().contains("quarantined 0 + pending 5 (balanced)"))
        #expect(try !readyRecords.contains(#""quarantine""#))
        #expect(try readyRecords.split(separator: "\n").count == 5)
        #expect(try sample.relay("verify").code == 0)
    }

    @Test func `a contract with faults lists them, exit code 78, and nothing is touched`() throws {
        let before = try sample.content()
        let file = try sample.folder.write("{ contract_version: 1, evnts: {} }", to: "contract.json5")
        let result = try sample.relay("quarantine", "replay", "--all", "--contract", file)
        #expect(result.code == 78)
        #expect(result.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("sluice-relay: \(file)") })
        #expect(result.errors.contains("evnts"))
        #expect(try sample.content() == before)
    }

    @Test func `only one edits at a time, the other ends with exit code 75`() throws {
        let lock = try File(opening: "\(sample.path)/quarantine/lock", O_RDWR | O_CREAT)
        #expect(try lock.tryLock())
        let result = try sample.relay("quarantine", "replay", "--all")
        #expect(result.code == 75)
        #expect(result.errors.contains("try again later"))
    }

    @Test func `a discard of everything must be meant, a replay of everything may be`() throws {
        let result = try sample.relay("quarantine", "discard")
        #expect(result.code == 64)
        #expect(result.errors.contains("or --all"))
        #expect(try sample.relay("quarantine", "replay", "--dry-run").code != 64)
    }

    @Test func `who did what is in the ledger, without any person's id`() throws {
        #expect(try sample.relay("quarantine", "discard", "--anonymous-id", "a", "--id", "a1", "--yes").code == 0)
        let ledger = String(decoding: try FileSystem.contents(of: sample.spool.ledger, limit: 1 << 20), as: UTF8.self)
        let lines = ledger.split(separator: "\n")
        let audit = try #require(lines.first { $0.contains(" audit discard ") })
        #expect(audit.contains(" records=1 by=\(getuid()) user="))
        #expect(audit.contains(" selection=ids=1%20persons=1 "))
        #expect(lines.contains { $0.contains(" discard ") && $0.contains(" by=\(getuid()) ") })
        #expect(try sample.relay("status").code == 0)
    }

    @Test func `what is asked for as JSON says the same`() throws {
        let result = try sample.relay("quarantine", "replay", "--dry-run", "--json")
        #expect(result.code == 65)
        #expect(
            result.output.hasPrefix(
                #"{"action":"replay","dry_run":true,"taken":3,"fails_again":2,"left":0,"stopped":false,"segments":[],"#
            )
        )
        #expect(
            result.output.contains(
                #"{"reason":"unsupported_event","event":"chat_opened","release":"1","build":"1","taken":0,"fails_again":2}"#
            )
        )
        #expect(result.lines.count == 1)
    }

    @Test func `a pace lets go of what was there, in slices, and nothing twice`() throws {
        let many = try SampleSpool()
        try many.quarantine((0..<120).map { "x\($0)" }, sequence: 0)
        try many.quarantine((0..<30).map { "y\($0)" }, sequence: 1)
        let result = try many.relay("quarantine", "replay", "--rate", "100")
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.hasPrefix("put back 150 records in "))
        #expect(try many.relay("status").lines.last?.contains("quarantined 0 + pending 150 (balanced)") == true)
        #expect(try FileSystem.names(in: many.spool.ready).count >= 2)
        #expect(try many.relay("verify").code == 0)
    }

    @Test func `a pace that is stopped leaves the rest in quarantine`() throws {
        let many = try SampleSpool()
        try many.quarantine((0..<120).map { "x\($0)" }, sequence: 0)
        let process = try ProcessRunner().start(
            "sluice-relay",
            ["quarantine", "replay", "--rate", "0.5", "--spool", many.path]
        )
        process.wait(seconds: 30) { (try? FileSystem.names(in: many.spool.ready).isEmpty) == false }
        process.terminate()
        let result = process.result()
        #expect(result.code == 75)
        #expect(result.output.hasPrefix("put back 50 records in 1 segment, "))
        #expect(result.output.contains("stopped, the rest stays in quarantine"))
        #expect(result.errors.contains(#""records":50"#))
        #expect(try many.relay("status").lines.last?.contains("quarantined 70 + pending 50 (balanced)") == true)
    }

    @Test func `a file is chosen by its name, and a name that is none is told`() throws {
        let names = try FileSystem.names(in: sample.spool.quarantine).filter { $0.hasSuffix(".lz4") }
        #expect(try sample.relay("quarantine", "discard", names[0]).output.hasPrefix("discarded 3 records, 0 stay\n"))
        #expect(try sample.relay("quarantine", "discard", names[0]).code == 65)
        #expect(try sample.relay("quarantine", "discard", "x").code == 64)
    }
}

struct StatusTests {
    @Test func `books that balance say so, exit code 0`() throws {
        let sample = try SampleSpool()
        try sample.seal([["e1", "e2"]])
        let text = try sample.relay("status")
        #expect(text.code == 0)
        #expect(text.output.hasSuffix("+ quarantined 0 + pending 2 (balanced)\n"))
        let json = try sample.relay("status", "--json")
        #expect(json.output.hasPrefix(#"{"accepted":2,"delivered":0,"#))
        #expect(json.output.contains(#""pending":2,"balanced":true,"problems":[]"#))
        #expect(json.lines.count == 1)
    }

    @Test func `a segment that vanished is named, exit code 65`() throws {
        let sample = try SampleSpool()
        let name = try sample.seal([["e1", "e2"]])
        try FileSystem.remove(sample.spool.ready(name))
        let result = try sample.relay("status")
        #expect(result.code == 65)
        #expect(
            result.output.contains("segment \(name) was sealed with 2 records and is neither in the spool nor finished")
        )
        #expect(result.output.hasSuffix("(NOT balanced)\n"))
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct InspectionTests {
    @Test func `inspect shows a segment's frames and gives its records back byte for byte`() throws {
        let sample = try SampleSpool()
        let name = try sample.seal([["e1", "e2"], ["e3"]])
        let outline = try sample.relay("inspect", name.text)
        #expect(outline.code == 0)
        #expect(outline.output.contains("records: 3 in 2 frames"))
        #expect(outline.output.contains("footer: 3 records, received 2026-11-30T00:53:20Z"))
        #expect(outline.lines.filter { $0.hasPrefix("frame at byte ") }.count == 2)
        for word in [name.text, name.sealedFileName, sample.spool.ready(name)] {
            let records = try sample.relay("inspect", word, "--records")
            #expect(records.output == ["e1", "e2", "e3"].map { SampleSpool.record($0) }.joined())
            #expect(records.code == 0)
        }
    }

    @Test func `damage is told with its place, the rest is shown, exit code 65`() throws {
        let sample = try SampleSpool()
        let name = try sample.seal([["e1", "e2"], ["e3"], ["e4"]])
        let path = sample.spool.ready(name)
        let frames = try sample.relay("inspect", name.text).lines.filter { $0.hasPrefix("frame at byte ") }
        let offset = frames[1].dropFirst("frame at byte ".count).prefix { $0 != ":" }
        try SampleSpool.flipByte(path, at: try #require(Int(offset)) + 12)
        let records = try sample.relay("inspect", name.text, "--records")
        #expect(records.code == 65)
        #expect(records.output == ["e1", "e2", "e4"].map { SampleSpool.record($0) }.joined())
        #expect(records.errors.contains("damaged at byte"))
        #expect(records.errors.contains("1 records declared"))
        let verified = try sample.relay("verify")
        #expect(verified.code == 65)
        #expect(verified.output.contains("\(path) at byte"))
        #expect(verified.output.hasSuffix("1 segment, 3 records, 0 torn tails, 1 problem\n"))
    }

    @Test func `a torn tail is told and is no damage`() throws {
        let sample = try SampleSpool()
        let name = try sample.seal([["e1"], ["e2"]], footer: false)
        let path = sample.spool.ready(name)
        let file = try File(opening: path, O_RDWR)
        try file.truncate(to: try file.status().size - 5)
        // Its writer ended before it sealed: nobody says how many records there were.
        try FileSystem.remove(sample.spool.ledger)
        #expect(try sample.relay("inspect", name.text).output.contains("torn tail at byte"))
        let verified = try sample.relay("verify")
        #expect(verified.code == 0)
        #expect(verified.output == "1 segment, 1 record, 1 torn tail, 0 problems\n")
    }

    @Test func `verify tells a line that is no record`() throws {
        let sample = try SampleSpool()
        let file = try SegmentFile(
            creating: sample.name(0),
            in: sample.spool.ready,
            as: sample.name(0).sealedFileName,
            createdAt: 1_796_000_000
        )
        var content = ByteBuffer()
        content.append(SampleSpool.record("e1") + "{\"envelope\":{}}\nnot json\n")
        try file.append(content.bytes, records: 3, receivedAt: 1...1)
        try file.finish()
        let verified = try sample.relay("verify")
        #expect(verified.code == 65)
        #expect(verified.output.contains("record 1: record: missing_member"))
        #expect(verified.output.contains("record 2: "))
    }

    @Test func `verify tells a segment that holds less than was sealed`() throws {
        let sample = try SampleSpool()
        let name = try sample.seal([["e1", "e2"], ["e3"]])
        #expect(try sample.relay("verify").code == 0)
        // Cut between two frames and given no footer, it looks whole in itself.
        let frames = try sample.relay("inspect", name.text).lines.filter { $0.hasPrefix("frame at byte ") }
        let second = try #require(Int(frames[1].dropFirst("frame at byte ".count).prefix { $0 != ":" }))
        try File(opening: sample.spool.ready(name), O_RDWR).truncate(to: second - 48)
        let verified = try sample.relay("verify")
        #expect(verified.code == 65)
        #expect(verified.output.contains("the ledger says 3 records were sealed, 2 can be read"))
    }

    @Test func `find tells what waits or is bad and was delivered before`() throws {
        let stub = try StubProcess()
        let sample = try SampleSpool()
        try sample.seal([["e1", "e2"]])
        #expect(try sample.drain(to: stub).code == 0)
        #expect(try sample.relay("find", "e1").output == "unknown\n")
        let name = try sample.seal([["e1", "e3"]], sequence: 1)
        try sample.quarantine(["e2", "e4"], sequence: 2)
        #expect(try sample.relay("find", "e1").output.hasPrefix("pending \(name) frame "))
        #expect(try sample.relay("find", "e1").output.hasSuffix("record 0, delivered before\n"))
        #expect(try sample.relay("find", "e3").output.hasSuffix("record 1\n"))
        #expect(try sample.relay("find", "e2").output.hasSuffix(", delivered before\n"))
        #expect(try !sample.relay("find", "e4").output.contains("delivered"))
    }

    @Test func `find tells pending, resolved and unknown events`() throws {
        let sample = try SampleSpool()
        let name = try sample.seal([["e1", "e2"], ["e3", "e2"]])
        let found = try sample.relay("find", "e2")
        #expect(found.code == 0)
        #expect(found.lines.count == 2)
        #expect(found.lines.allSatisfy { $0.hasPrefix("pending \(name) frame ") })
        #expect(found.lines.allSatisfy { $0.hasSuffix("record 1") })
        let frame = try #require(Int(found.lines[0].split(separator: " ")[3]))
        let progress = try Progress(of: name, in: sample.spool)
        try progress.append([ProgressEntry(frame: frame, first: 1, outcome: .delivered)])
        #expect(try sample.relay("find", "e2").lines.first == "delivered \(name) frame \(frame) record 1")
        #expect(try sample.relay("find", "e").output == "unknown\n")
        #expect(try sample.relay("find", "a").output == "unknown\n")
    }
}

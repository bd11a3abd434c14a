// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// The files of `Segments`, torn, zeroed and foreign ones of real incidents, each as the oldest segment of a spool.
///
/// Their lines are bare envelopes, which are no records: what can be read of them goes to quarantine line by line.
///
/// Cases C35, C36, C38 and C50.
struct HandedSegmentTests {
    struct Handed: Sendable, CustomTestStringConvertible {
        var name: String
        /// Lines that are read.
        var lines: Int
        /// Reasons of the entries about bytes that cannot be read.
        var unread: [String]

        init(_ name: String, _ lines: Int, _ unread: String...) {
            self.name = name
            self.lines = lines
            self.unread = unread
        }

        var testDescription: String { name }
    }

    private static let handed = [
        Handed("C35-sample", 6), Handed("C35a-no-checksum", 4, "torn_tail"), Handed("C35b-no-end", 4, "torn_tail"),
        Handed("C35c-mid-block", 4, "torn_tail"), Handed("C35d-header", 4, "torn_tail"),
        Handed("C35e-magic", 4, "torn_tail"), Handed("C35f-three", 4, "torn_tail"), Handed("C35g-one", 4, "torn_tail"),
        Handed("C36a-zero-tail", 4, "damaged"), Handed("C36b-zero-page-after", 6, "damaged"),
        Handed("C36c-all-zero", 0, "damaged"), Handed("C36d-zero-hole", 4, "damaged"),
        Handed("C38a-empty", 0), Handed("C38b-one", 0, "torn_tail"), Handed("C38c-plain", 0, "damaged"),
        Handed("C38d-gzip", 0, "damaged"),
    ]

    private static let folder = #filePath.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/Segments"

    private static func bytes(_ name: String) throws -> [UInt8] {
        try FileSystem.contents(of: "\(folder)/\(name).lz4", limit: 1 << 20)
    }

    @Test func `every handed segment has an expectation`() throws {
        let names = try FileSystem.names(in: Self.folder).map { String($0.dropLast(".lz4".utf8.count)) }
        #expect(names == Self.handed.map(\.name).sorted())
    }

    @Test(arguments: handed)
    func `a handed segment in front gives up what can be read, keeps the rest, and holds up nobody`(
        input: Handed
    ) throws {
        let upstream = Upstream()
        let fixture = try RelayFixture(upstream)
        let name = SegmentName(millisecondsSince1970: 1_795_000_000_000, writer: 12, sequence: 0)
        let bytes = try Self.bytes(input.name)
        let file = try File(opening: fixture.spool.ready(name), O_WRONLY | O_CREAT | O_EXCL)
        try bytes.withUnsafeBytes { try file.write($0) }
        for number in 0..<20 { try fixture.seal(RelayFixture.records(number * 10..<number * 10 + 10)) }

        let summary = try fixture.drain()
        #expect(upstream.taken.count == 200 && Set(upstream.taken).count == 200)
        #expect(!summary.isWorkLeft && fixture.readyNames.isEmpty)
        #expect(summary.segments == 21)
        #expect(summary.metDamage == input.unread.contains("damaged"))
        let entries = try fixture.quarantined()
        #expect(entries.count { $0.reason == "invalid_record" } == input.lines)
        #expect(entries.map(\.reason).filter { $0 != "invalid_record" } == input.unread)
        try checkKeptBytes(of: name, bytes, entries.map(\.line), fixture)
        #expect(try SpoolStatus.read(fixture.spool).balanced)

        // Later runs are quiet, and never try it again.
        let told = fixture.log.messages.count
        let again = try fixture.drain()
        #expect(again.counts.total == 0 && !again.metDamage && again.segments == 0)
        #expect(fixture.log.messages.count == told)
        #expect(upstream.taken.count == 200)
    }

    /// Each entry about unread bytes names a range, and the bytes there are kept as they were.
    private func checkKeptBytes(
        of name: SegmentName,
        _ bytes: [UInt8],
        _ entries: [String],
        _ fixture: RelayFixture
    ) throws {
        for line in entries where line.contains(#""offset":"#) {
            #expect(line.contains(#""segment":"\#(name.text)""#))
            let offset = try #require(Self.number("offset", in: line))
            let length = try #require(Self.number("length", in: line))
            #expect(length > 0)
            let kept = try FileSystem.contents(of: fixture.spool.damaged(name), limit: 1 << 20)
            #expect(Array(kept[offset..<offset + length]) == Array(bytes[offset..<offset + length]))
        }
    }

    private static func number(_ name: String, in line: String) -> Int? {
        line.firstRange(of: "\"\(name)\":").flatMap { Int(line[$0.upperBound...].prefix { $0.isNumber }) }
    }
}

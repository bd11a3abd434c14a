// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct SegmentFileTests {
    private let folder = TemporaryFolder()
    private let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 1, sequence: 0)

    @Test func `a file is locked before its name shows`() throws {
        let file = try SegmentFile(creating: name, in: folder.path, as: name.openFileName, createdAt: 1)
        #expect(try FileSystem.names(in: folder.path) == [".new-" + name.openFileName])
        try file.show()
        #expect(try FileSystem.names(in: folder.path) == [name.openFileName])
        let other = try File(opening: folder.path(name.openFileName), O_RDWR)
        #expect(try other.tryLock() == false)
        #expect(try other.status().mode & 0o7777 == 0o660)
    }

    @Test func `the header tells who wrote the segment, and is a line of JSON behind eight bytes`() throws {
        let file = try SegmentFile(
            creating: name,
            in: folder.path,
            as: name.sealedFileName,
            host: "web-1.example \"é",
            createdAt: 1_796_000_000
        )
        try file.finish()
        let header = try #require(try SegmentReader(opening: file.path).header)
        #expect(header == SegmentHeader(name: name, host: "web-1.example", createdAt: 1_796_000_000))
        let bytes = try FileSystem.contents(of: file.path, limit: 4_096)
        let line = try #require(bytes.dropFirst(8).split(separator: UInt8(ascii: "\n")).first)
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"sluice":"segment","version":1,"segment":"\#(name.text)","writer":"0000000000000001","#
                + #""host":"web-1.example","created_at":1796000000}"#
        )
    }

    @Test func `a taken name is an error and nothing is overwritten`() throws {
        let path = try folder.write("mine", to: name.sealedFileName)
        let file = try SegmentFile(creating: name, in: folder.path, as: name.sealedFileName, createdAt: 1)
        let error = #expect(throws: SpoolError.self) { try file.finish() }
        #expect(error?.code == .nameTaken)
        #expect(try FileSystem.contents(of: path, limit: 10) == Array("mine".utf8))
        file.discard()
        #expect(try FileSystem.names(in: folder.path) == [name.sealedFileName])
    }

    @Test func `an old file under the new name does not stop a new one`() throws {
        try folder.write("", to: ".new-" + name.sealedFileName)
        let file = try SegmentFile(creating: name, in: folder.path, as: name.sealedFileName, createdAt: 1)
        try file.finish()
        #expect(try FileSystem.names(in: folder.path).contains(name.sealedFileName))
    }

    @Test func `reserved room does not make the file longer and is given back`() throws {
        let file = try SegmentFile(
            creating: name,
            in: folder.path,
            as: name.sealedFileName,
            createdAt: 1,
            reserving: 64 << 10
        )
        #expect(try FileStatus(of: file.path).size == file.fileBytes)
        try file.finish()
        let status = try FileStatus(of: file.path)
        #expect(status.size == file.fileBytes && status.allocated < 64 << 10)
    }

    @Test func `lines longer than a frame are split between records`() throws {
        let file = try SegmentFile(creating: name, in: folder.path, as: name.sealedFileName, createdAt: 1)
        let line = String(repeating: "x", count: 1_500_000) + "\n"
        try (line + line + line + line + line).withBytes { try file.append(lines: $0, receivedAt: 5...6) }
        #expect(file.totals.frames == 3 && file.totals.records == 5)
        let error = #expect(throws: SpoolError.self) {
            try (line + String(repeating: "y", count: 5_000_000) + "\n").withBytes {
                try file.append(lines: $0, receivedAt: 5...6)
            }
        }
        #expect(error?.code == .tooLarge)
        #expect(file.totals.records == 6)
    }

    @Test func `cut back to what is durable, the rest is gone`() throws {
        let file = try SegmentFile(creating: name, in: folder.path, as: name.sealedFileName, createdAt: 1)
        try "a\n".withBytes { try file.append($0, records: 1, receivedAt: 1...1) }
        try file.syncData()
        try "b\n".withBytes { try file.append($0, records: 1, receivedAt: 1...1) }
        try file.cutToDurable()
        #expect(try Reading(opening: file.path).delivered == ["a\n"])
    }

    @Test(arguments: [true, false])
    func `the summary of a segment agrees with its writer`(footer: Bool) throws {
        let file = try SegmentFile(creating: name, in: folder.path, as: name.sealedFileName, createdAt: 1)
        for second in 1...4 {
            try "a\nb\n".withBytes { try file.append($0, records: 2, receivedAt: second...second) }
        }
        try file.finish(footer: footer)
        let summary = try SegmentSummary(of: file.path)
        #expect(summary.totals == file.totals && summary.totals.receivedAt == 1...4)
        #expect(summary.hasFooter == footer && summary.isWhole && summary.fileBytes == file.fileBytes)
    }

    @Test func `the summary of a damaged segment counts what a reader gives and what is declared lost`() throws {
        let sample = try SampleSegment(groups: 4, recordsPerGroup: 3, footer: false)
        var bytes = sample.bytes
        bytes[sample.groupRange(1).lowerBound] ^= 1
        bytes[sample.groupRange(2).upperBound - 1] ^= 1
        _ = try Reading(of: bytes, in: folder)
        let summary = try SegmentSummary(of: folder.path("segment"))
        #expect(summary.totals.records == 12 && summary.totals.frames == 3)
        #expect(!summary.isWhole && !summary.hasFooter)
    }
}

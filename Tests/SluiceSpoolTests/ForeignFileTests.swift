// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Files that are no segments of Sluice's, or only look like it.
///
/// Cases C35, C36, C38 and C45.
struct ForeignFileTests {
    private let folder = TemporaryFolder()

    @Test(.enabled(if: Tool.isInstalled("lz4"), "the lz4 tool is missing"), arguments: [0, 1, 3, 4, 5, 7, 10, 40])
    func `frames of the lz4 tool are read, and what is cut off is a torn tail`(kept: Int) throws {
        let text = #"{"event":"screen_view","event_id":"00000000-0000-4000-8000-000000000001"}"# + "\n"
        let frame = try compressed(text)
        let whole = frame + frame
        let reading = try Reading(of: whole + frame.prefix(kept), in: folder)
        #expect(reading.delivered == [text, text])
        #expect(reading.damaged == [])
        #expect(reading.tornTail == (kept == 0 ? nil : whole.count..<(whole.count + kept)))
    }

    @Test(.enabled(if: Tool.isInstalled("lz4"), "the lz4 tool is missing"), arguments: [1, 4, 512, 300_000])
    func `zeros behind the last frame are damage and the frames count`(zeros: Int) throws {
        let text = String(repeating: "{\"n\":1}\n", count: 50)
        let frame = try compressed(text)
        let reading = try Reading(of: frame + [UInt8](repeating: 0, count: zeros), in: folder)
        #expect(reading.delivered == [text])
        #expect(reading.damaged == [frame.count..<(frame.count + zeros)])
    }

    @Test(arguments: [1, 512, 70_000, 1 << 20])
    func `a file of zeros is damage`(length: Int) throws {
        let reading = try Reading(of: [UInt8](repeating: 0, count: length), in: folder)
        #expect(reading.items == [.damaged(offset: 0, length: length, declaredRecords: nil), .end(footer: nil)])
    }

    @Test func `an empty file has nothing in it`() throws {
        #expect(try Reading(of: [], in: folder).items == [.end(footer: nil)])
        let summary = try SegmentSummary(of: folder.path("segment"))
        #expect(summary.fileBytes == 0 && summary.totals.records == 0 && summary.isWhole)
    }

    @Test(arguments: [
        Array("{\"event\":\"x\"}\n".utf8), [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3], [0x02, 0x21, 0x4C, 0x18],
    ])
    func `text, gzip and old formats are damage`(bytes: [UInt8]) throws {
        let reading = try Reading(of: bytes, in: folder)
        #expect(reading.items == [.damaged(offset: 0, length: bytes.count, declaredRecords: nil), .end(footer: nil)])
    }

    @Test func `a single byte of a magic number is a torn tail`() throws {
        let reading = try Reading(of: [0x04], in: folder)
        #expect(reading.items == [.tornTail(offset: 0, length: 1, declaredRecords: nil), .end(footer: nil)])
    }

    @Test func `a frame that declares more than 64 MiB is refused before memory is taken`() throws {
        var frame: [UInt8] = [0x04, 0x22, 0x4D, 0x18, 0x6C, 0x40]
        frame += [0, 0, 0, 0, 0, 1, 0, 0]  // 1 TiB
        frame += [0, 1, 0, 0, 0, 0]
        let reading = try Reading(of: frame, in: folder)
        #expect(reading.damaged == [0..<frame.count])
    }

    @Test(
        .enabled(if: Tool.isInstalled("lz4"), "lz4 is not installed"),
        arguments: [
            // A line longer than any record, and a few bytes that give a hundred thousand lines.
            (String(repeating: "x", count: 5 << 20), false),
            (String(repeating: "\n", count: 100_000), false),
            (String(repeating: "{}\n", count: 100_000), false),
            (String(repeating: String(repeating: "y", count: 99) + "\n", count: 70_000), true),
            (String(repeating: "\n", count: 60_000), true),
        ]
    )
    func `a frame whose lines cannot be records is damage`(text: String, isDelivered: Bool) throws {
        let frame = try compressed(text)
        let reading = try Reading(of: frame, in: folder)
        #expect(reading.damaged == (isDelivered ? [] : [0..<frame.count]))
        #expect(reading.delivered.count == (isDelivered ? 1 : 0))
    }

    @Test func `a skippable frame that nobody vouches for does not hide what follows`() throws {
        let sample = try SampleSegment()
        var bytes = sample.bytes
        // One flipped bit in a size makes lz4 skip the rest of the file and report success.
        let count = try #require(sample.elements.first { $0.kind == .count })
        bytes[count.range.lowerBound + 7] ^= 0x40
        let reading = try Reading(of: bytes, in: folder)
        #expect(reading.delivered == sample.groups)
        #expect(reading.damaged == [count.range])
    }

    @Test func `a segment of a later version is an error that says so`() throws {
        let name = SegmentName(millisecondsSince1970: 1, writer: 2, sequence: 3)
        var header = ByteBuffer()
        SegmentHeader(name: name, host: "h", createdAt: 1, version: 2).append(to: &header)
        let path = folder.path("later")
        try File(opening: path, O_RDWR | O_CREAT).write(header.bytes)
        let error = #expect(throws: SpoolError.self) { try SegmentReader(opening: path) }
        #expect(error?.code == .unsupportedVersion)
        #expect(error?.disposition == .leaveAlone)
        #expect(error?.description.contains("version 2") == true)
    }

    @Test func `links, folders and pipes are not opened, nor waited for`() throws {
        let sample = try SampleSegment()
        let target = folder.path("target")
        let file = try File(opening: target, O_RDWR | O_CREAT)
        try sample.bytes.withUnsafeBytes { try file.write($0) }
        #expect(symlink(target, folder.path("link")) == 0)
        #expect(symlink(folder.path("loop"), folder.path("loop")) == 0)
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        try FileSystem.makeFolder(folder.path("folder"))
        for name in ["link", "loop", "pipe", "folder", "missing"] {
            #expect(throws: SpoolError.self, "\(name)") { try SegmentReader(opening: folder.path(name)) }
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            // A frame header that verifies, opening a raw block that takes in all that follow.
            [0x04, 0x22, 0x4D, 0x18, 0x64, 0x70, 0xB9, 0, 0, 0x30, 0x80],
            // A frame of Sluice's of the largest size, whose checksum never holds.
            [0x5A, 0x2A, 0x4D, 0x18, 0xF8, 0x3F, 0, 0],
            [0x5A, 0x2A, 0x4D, 0x18],
        ] as [[UInt8]]
    )
    func `a file made to keep readers busy is read in bounded time`(piece: [UInt8]) throws {
        var bytes: [UInt8] = []
        while bytes.count < 3 << 20 { bytes += piece }
        let reading = try Reading(of: bytes, in: folder)
        #expect(reading.delivered == [])
        #expect(reading.damaged.map(\.count).reduce(0, +) + (reading.tornTail?.count ?? 0) == bytes.count)
    }

    private func compressed(_ text: String) throws -> [UInt8] {
        let plain = try folder.write(text, to: "plain")
        let packed = folder.path("packed")
        try #require(try Tool.run("lz4", "-q", "-f", plain, packed).code == 0)
        return try FileSystem.contents(of: packed, limit: 1 << 20)
    }
}

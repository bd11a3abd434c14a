// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// A small segment whose every byte is known: which element it belongs to, and which records that element holds.
struct SampleSegment {
    enum Kind: Hashable { case header, count, data, footer }

    struct Element: Hashable {
        var kind: Kind
        var range: Range<Int>
        var group: Int?
    }

    var bytes: [UInt8]
    var elements: [Element]
    /// The records of each group, one a line.
    var groups: [String]
    var recordsPerGroup: Int

    init(groups groupCount: Int = 4, recordsPerGroup: Int = 3, footer: Bool = true) throws {
        let folder = TemporaryFolder()
        let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 7, sequence: 0)
        let file = try SegmentFile(creating: name, in: folder.path, as: name.sealedFileName, createdAt: 1_796_000_000)
        self.recordsPerGroup = recordsPerGroup
        elements = [Element(kind: .header, range: 0..<file.fileBytes)]
        groups = []
        for group in 0..<groupCount {
            let text = (0..<recordsPerGroup).map { #"{"received_at":1796000000,"n":\#(group * 100 + $0)}"# + "\n" }
                .joined()
            let start = file.fileBytes
            let offset = try text.withBytes {
                try file.append($0, records: recordsPerGroup, receivedAt: 1_796_000_000...1_796_000_001)
            }
            elements.append(Element(kind: .count, range: start..<offset, group: group))
            elements.append(Element(kind: .data, range: offset..<file.fileBytes, group: group))
            groups.append(text)
        }
        let end = file.fileBytes
        try file.finish(footer: footer)
        bytes = try FileSystem.contents(of: file.path, limit: 1 << 20)
        if footer { elements.append(Element(kind: .footer, range: end..<bytes.count)) }
    }

    func element(at offset: Int) throws -> Element {
        try #require(elements.first { $0.range.contains(offset) })
    }

    /// From the count frame's first byte to the data frame's last.
    func groupRange(_ group: Int) -> Range<Int> {
        let parts = elements.filter { $0.group == group }
        return parts[0].range.lowerBound..<parts[1].range.upperBound
    }
}

/// What reading a file to its end gave.
struct Reading: Equatable {
    var items: [SegmentReader.Item] = []
    var delivered: [String] = []

    var damaged: [Range<Int>] {
        items.compactMap {
            if case .damaged(let offset, let length, _) = $0 { offset..<(offset + length) } else { nil }
        }
    }

    var tornTail: Range<Int>? {
        for case .tornTail(let offset, let length, _) in items { return offset..<(offset + length) }
        return nil
    }

    var footer: SegmentFooter? {
        if case .end(let footer) = items.last { footer } else { nil }
    }

    /// Reads `bytes` as a file, and checks what holds for every file.
    init(of bytes: [UInt8], in folder: TemporaryFolder, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let path = folder.path("segment")
        // Not O_TRUNC: ext4 writes a file to disk at once that was cut to nothing and filled again.
        try FileSystem.removeIfPresent(path)
        let file = try File(opening: path, O_RDWR | O_CREAT | O_EXCL)
        try bytes.withUnsafeBytes { try file.write($0) }
        try self.init(opening: path)
        var last = 0
        for item in items {
            switch item {
            case .frame(let offset, let length, _), .damaged(let offset, let length, _),
                .tornTail(let offset, let length, _):
                #expect(offset >= last && length > 0, "pieces overlap", sourceLocation: sourceLocation)
                last = offset + length
            case .end: break
            }
        }
        #expect(last <= bytes.count, "a piece reaches past the end", sourceLocation: sourceLocation)
    }

    init(opening path: String) throws {
        let reader = try SegmentReader(opening: path)
        var buffer = ByteBuffer()
        while true {
            let item = try reader.next(into: &buffer)
            items.append(item)
            if case .frame = item { delivered.append(String(decoding: buffer.bytes, as: UTF8.self)) }
            if case .end = item { return }
            try #require(items.count < 10_000, "reading does not end")
        }
    }
}

extension String {
    @discardableResult
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        var text = self
        return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
    }
}

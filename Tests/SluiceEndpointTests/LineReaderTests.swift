// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceEndpoint
import SluiceSystem
import SluiceTestSupport
import Testing

struct LineReaderTests {
    private let folder = TemporaryFolder()

    private struct Line: Equatable {
        var text: String
        var number: Int
        var isTooLong = false
    }

    private func lines(_ text: String, maximum: Int = 100) throws -> [Line] {
        let path = try folder.write(text, to: "input")
        var reader = LineReader(try File(opening: path, O_RDONLY), maximumLineBytes: maximum)
        var lines: [Line] = []
        while let line = try reader.next() {
            let text = String(decoding: line.bytes, as: UTF8.self)
            lines.append(Line(text: text, number: line.number, isTooLong: line.isTooLong))
        }
        return lines
    }

    @Test func `lines come with their numbers, the last one with or without its line feed`() throws {
        let expected = [Line(text: "a", number: 1), Line(text: "", number: 2), Line(text: "bc\r", number: 3)]
        #expect(try lines("a\n\nbc\r\n") == expected)
        #expect(try lines("a\n\nbc\r") == expected)
        #expect(try lines("") == [])
    }

    @Test func `a line of exactly the limit is taken and one byte more is skipped, wherever its end is`() throws {
        let limit = 300_000
        for length in [limit, limit + 1, 2 * limit, 600_000] {
            let long = String(repeating: "x", count: length)
            for text in ["a\n\(long)\nb\n", "a\n\(long)\nb"] {
                let lines = try lines(text, maximum: limit)
                #expect(lines.map(\.number) == [1, 2, 3])
                #expect(lines[1].isTooLong == (length > limit))
                #expect(lines[1].text.utf8.count == (length > limit ? 0 : length))
                #expect(lines[2].text == "b")
            }
        }
        #expect(try lines(String(repeating: "x", count: 700_000), maximum: limit).map(\.isTooLong) == [true])
    }

    @Test func `many lines across the edges of reads come whole`() throws {
        let expected = (0..<40_000).map { "line \($0) " + String(repeating: "y", count: $0 % 97) }
        #expect(try lines(expected.joined(separator: "\n"), maximum: 1000).map(\.text) == expected)
    }

    @Test func `memory stays bounded while a line without end goes by`() throws {
        let path = folder.path("zeros")
        let file = try File(opening: path, O_WRONLY | O_CREAT)
        try file.truncate(to: 1 << 30)
        var reader = LineReader(try File(opening: path, O_RDONLY), maximumLineBytes: 1 << 20)
        #expect(try reader.next()?.isTooLong == true)
        #expect(try reader.next() == nil)
        #expect(reader.bytesRead == 1 << 30)
    }

    @Test func `the whole of a short input is there behind its first line`() throws {
        let path = try folder.write("{\n}\n", to: "input")
        var reader = LineReader(try File(opening: path, O_RDONLY), maximumLineBytes: 10)
        #expect(try reader.next()?.number == 1)
        let whole = try #require(try reader.whole())
        #expect(String(decoding: whole, as: UTF8.self) == "{\n}\n")
        #expect(try reader.next()?.number == 2)
        #expect(try reader.next() == nil)
        #expect(try reader.whole() == nil)
    }

    @Test func `an input longer than a line may be is not held as a whole, and goes on by lines`() throws {
        let path = try folder.write("{\n" + String(repeating: "abc\n", count: 300_000), to: "input")
        var reader = LineReader(try File(opening: path, O_RDONLY), maximumLineBytes: 1000)
        _ = try reader.next()
        #expect(try reader.whole() == nil)
        var count = 0
        while let line = try reader.next() {
            #expect(line.bytes.count == 3)
            count += 1
        }
        #expect(count == 300_000)
    }
}

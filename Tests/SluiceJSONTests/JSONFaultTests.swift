// SPDX-License-Identifier: Apache-2.0
import SluiceJSON
import SluiceSystem
import Testing

struct JSONFaultTests {
    private func fault(_ bytes: [UInt8], maximumDepth: Int = 64) -> JSONError? {
        var buffer = ByteBuffer()
        buffer.append(bytes)
        do throws(JSONError) {
            _ = try JSONParser(maximumBytes: 1 << 20, maximumDepth: maximumDepth).parse(buffer.bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("  ", JSONError.Code.empty, 0),
        ("{\"events\":[\n,{}]}", .syntax, 12),
        ("{\"events\":[{}{}]}", .syntax, 13),
        ("{\"events\":[{},,{}]}", .syntax, 14),
        ("{\"events\":[{}]}{\"events\":[]}", .trailingBytes, 15),
        ("{\"events\":[{}]", .syntax, 14),
        ("{\"a\":[}", .syntax, 6),
        ("{\"a\" 1}", .syntax, 5),
        ("{a:1}", .syntax, 1),
        ("[1,]", .syntax, 3),
        ("[tru]", .syntax, 1),
        ("[1,01]", .invalidNumber, 3),
        ("[1.]", .invalidNumber, 1),
        ("[-]", .invalidNumber, 1),
        ("[1,1e400]", .invalidNumber, 3),
        ("[123456789012345678901234567890]", .invalidNumber, 1),
        ("[\"ab\\ud800x\"]", .invalidString, 4),
        ("[\"\\ude00\"]", .invalidString, 2),
        ("[\"\\ud83d\\ude\"]", .invalidString, 2),
        ("[\"\\q\"]", .invalidString, 2),
        ("[\"ok\",\"a\u{1}b\"]", .controlCharacter, 8),
        ("[\"ok\",\"a]", .unclosedString, 6),
        ("\u{FEFF}{}", .byteOrderMark, 0),
    ])
    func `the first fault is named with its offset`(text: String, code: JSONError.Code, offset: Int) {
        #expect(fault(Array(text.utf8)) == JSONError(code, byteOffset: offset))
    }

    @Test func `the bracket that goes too deep is named`() {
        #expect(fault(Array("[[[[]]]]".utf8), maximumDepth: 3) == JSONError(.tooDeep, byteOffset: 3))
        #expect(fault(Array("[[[[1]]]]".utf8), maximumDepth: 3) == JSONError(.tooDeep, byteOffset: 3))
    }

    @Test(
        arguments: [
            [0xC3, 0x28], [0xC0, 0xAF], [0xC1, 0x80], [0xED, 0xA0, 0x80], [0xE0, 0x80, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xF5], [0xFF], [0x80], [0xE2, 0x82],
        ] as [[UInt8]]
    )
    func `the first byte that is not UTF-8 is named`(bad: [UInt8]) {
        let front = Array("[\"größe€😀".utf8)
        #expect(fault(front + bad + Array("\"]".utf8)) == JSONError(.invalidUTF8, byteOffset: front.count))
    }

    @Test func `only faults of one value concern one value`() {
        let isolated = JSONError.Code.allCases.filter { JSONError($0).concernsOneValue }
        #expect(isolated == [.tooDeep, .invalidString, .invalidNumber])
    }

    @Test func `an error reads as a sentence with its offset`() {
        #expect("\(JSONError(.syntax, byteOffset: 12))" == "not acceptable JSON: syntax at byte 12")
        #expect("\(JSONError(.tooLarge))" == "not acceptable JSON: too_large")
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceJSON
import SluiceSystem
import Testing

struct JSONTextTests {
    private func escaped(_ bytes: [UInt8]) -> String {
        var buffer = ByteBuffer()
        bytes.withUnsafeBytes { buffer.append(escapingForJSONString: $0) }
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test func `only what JSON demands is escaped`() {
        #expect(escaped(Array("a\"b\\c/d\u{7f}é\u{2028}".utf8)) == "a\\\"b\\\\c/d\u{7f}é\u{2028}")
        #expect(escaped([0, 8, 9, 10, 12, 13, 27, 31]) == "\\u0000\\b\\t\\n\\f\\r\\u001b\\u001f")
        #expect(escaped([]) == "")
    }

    @Test func `every byte at every place of a word is escaped as it is alone`() {
        for byte in UInt8(0)..<128 {
            let alone = escaped([byte])
            for place in 0..<20 {
                var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 20)
                bytes[place] = byte
                let expected = String(repeating: "x", count: place) + alone + String(repeating: "x", count: 19 - place)
                #expect(escaped(bytes) == expected)
            }
        }
    }

    @Test func `long text with escapes all over comes back from the parser`() throws {
        var bytes: [UInt8] = []
        for number in 0..<20_000 { bytes.append(UInt8(number * 7919 % 128)) }
        var buffer = ByteBuffer()
        bytes.withUnsafeBytes { buffer.append(jsonString: $0) }
        let document = try JSONParser(maximumBytes: 1 << 20).parse(buffer.bytes)
        #expect(document.text(document[0]).elementsEqual(bytes))
    }
}

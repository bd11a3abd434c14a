// SPDX-License-Identifier: Apache-2.0
import SluiceEvents
import Testing

struct NameIndexTests {
    private func number(_ name: String, in names: [String]) -> Int? {
        let arena = Arena()
        let index = NameIndex(names, in: arena)
        return withExtendedLifetime(arena) {
            var name = name
            return name.withUTF8 { index.number(of: UnsafeRawBufferPointer($0)) }
        }
    }

    @Test func `each of many names is found and nothing else`() {
        let names = (0..<500).map { "n" + String(repeating: "x", count: $0 % 40) + "\($0)" }
        for (number, name) in names.enumerated() { #expect(self.number(name, in: names) == number) }
        for name in ["", "n", "n500", "N0", "nx1x", "x"] { #expect(number(name, in: names) == nil) }
    }

    @Test func `long names that differ only in their middle are told apart`() {
        let names = ["aaaaaaaaXbbbbbbbbb", "aaaaaaaaYbbbbbbbbb", "aaaaaaaaZbbbbbbbbb"]
        #expect(number(names[1], in: names) == 1)
        #expect(number("aaaaaaaaQbbbbbbbbb", in: names) == nil)
    }

    @Test func `names compare by bytes, up to the last and past a NUL`() {
        #expect(number("\u{e9}", in: ["e\u{301}"]) == nil)
        #expect(number("screen_view\u{0}", in: ["screen_view"]) == nil)
        #expect(number("a\u{0}", in: ["a"]) == nil)
        #expect(number("", in: []) == nil)
        #expect(number("", in: [""]) == 0)
    }
}

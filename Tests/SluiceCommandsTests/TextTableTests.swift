// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import Testing

struct TextTableTests {
    @Test func `columns line up, numbers to the right`() {
        let lines = TextTable.lines([["n", "name"], ["1", "a"], ["100", "long name"]])
        #expect(lines == ["  n  name", "  1  a", "100  long name"])
    }

    @Test func `nothing in a cell moves the cursor`() {
        #expect(TextTable.printable("a\u{1B}[2J\nb\u{202E}") == "a\\u{1b}[2J\\u{a}b\\u{202e}")
        #expect(TextTable.printable(String(repeating: "x", count: 100)).count == 61)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import Testing

struct ArgumentsTests {
    @Test func `both spellings of an option, switches and words are taken in any order`() throws {
        var arguments = Arguments(["a", "--spool", "/s", "--dry-run", "--reason=x=y", "b", "--", "--c", "-d"])
        #expect(try arguments.option("--spool") == "/s")
        #expect(try arguments.option("--reason") == "x=y")
        #expect(try arguments.option("--event") == nil)
        #expect(try arguments.flag("--dry-run"))
        #expect(try !arguments.flag("--json"))
        #expect(try arguments.remaining("[SEGMENT…]") == ["a", "b", "--c", "-d"])
    }

    @Test func `an option that may repeat keeps its order`() throws {
        var arguments = Arguments(["--poison", "a", "--poison=b"])
        #expect(try arguments.options("--poison") == ["a", "b"])
    }

    @Test func `a verb is the first word`() {
        var arguments = Arguments(["drain", "--x"])
        #expect(arguments.verb() == "drain")
        #expect(arguments.verb() == nil)
    }

    @Test(arguments: [
        (["--spool"], "--spool needs a value"), (["--spool", "--dry-run"], "--spool needs a value"),
        (["--spool", "a", "--spool", "b"], "--spool stands more than once"),
        (["--dry-run=yes"], "--dry-run takes no value"),
        (["--spol", "a"], "--spol is no option here; did you mean --spool?"),
        (["-x"], "-x is no option here"), (["a", "b"], "b is one word too many"), ([], "SEGMENT is missing"),
        (["a", "--deadline", "soon"], "--deadline takes a whole number from 1 to 9, not soon"),
        (["a", "--deadline=10"], "--deadline takes a whole number from 1 to 9, not 10"),
    ])
    func `what makes no sense is refused with a sentence`(words: [String], message: String) {
        let error = #expect(throws: UsageError.self) {
            var arguments = Arguments(words)
            _ = try arguments.option("--spool")
            _ = try arguments.flag("--dry-run")
            _ = try arguments.integer("--deadline", in: 1...9)
            _ = try arguments.remaining("SEGMENT")
        }
        #expect(error?.description == message)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceGraphJSON
import Testing

struct BodyExcerptTests {
    @Test(
        arguments: [
            ("", ""), ("plain", "plain"), ("  a \r\n\t b  ", "a b"),
            ("<script>a&b</script>", "&lt;script&gt;a&amp;b&lt;/script&gt;"),
            ("\u{1b}[31mred\u{0}\u{7f}", "\\u{1b}[31mred\\u{0}\\u{7f}"),
            ("a\u{202e}b\u{2028}c", "a\\u{202e}b\\u{2028}c"), ("ünï😀", "ünï😀"),
            ("{\"error\":\"x\"}", "{\"error\":\"x\"}"),
        ]
    )
    func `a body is made harmless`(body: String, excerpt: String) {
        #expect(BodyExcerpt.text(Array(body.utf8), hiding: "") == excerpt)
    }

    @Test func `bytes that are no UTF-8 are repaired`() {
        #expect(BodyExcerpt.text([0x61, 0xff, 0xc3, 0x28], hiding: "") == "a\u{fffd}\u{fffd}(")
    }

    @Test(arguments: ["x", "é", "😀", "<", "\u{1}"])
    func `an excerpt has at most 200 bytes and no half character`(character: String) {
        let excerpt = BodyExcerpt.text(Array(String(repeating: character, count: 5000).utf8), hiding: "")
        #expect(excerpt.utf8.count <= BodyExcerpt.maximumBytes)
        #expect(excerpt.utf8.count > BodyExcerpt.maximumBytes - 8)
        #expect(!excerpt.unicodeScalars.contains("\u{fffd}"))
    }

    @Test func `the secret is masked wherever it stands`() {
        let secret = "sk-0123456789"
        for offset in Array(0..<20) + Array(150..<260) + Array(780..<860) {
            let body = String(repeating: "x", count: offset) + secret + secret + String(repeating: "y", count: 900)
            let excerpt = BodyExcerpt.text(Array(body.utf8), hiding: secret)
            #expect(!excerpt.contains("0123"))
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Lays out help so that it fits 100 columns.
package enum HelpText {
    private static let width = 100
    private static let indent = 30

    /// Rows of a name and what it means, the second column wrapped.
    package static func table(_ rows: [(String, String)]) -> String {
        rows.map { name, meaning in
            let lines = wrap(meaning, width - indent)
            let first = "  \(name)"
            let pad = String(repeating: " ", count: max(0, indent - first.count))
            let start = first.count < indent ? first + pad + (lines.first ?? "") : first
            let rest = first.count < indent ? lines.dropFirst() : lines[...]
            return ([start] + rest.map { String(repeating: " ", count: indent) + $0 }).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    /// Breaks `text` between words into lines of at most `width` characters.
    static func wrap(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}

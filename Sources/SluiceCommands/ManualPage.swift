// SPDX-License-Identifier: Apache-2.0

/// A page for `man`, made from help as it stands on a terminal.
///
/// https://man7.org/linux/man-pages/man7/groff_man.7.html
struct ManualPage {
    private(set) var text: String

    /// Begins a page with its title line and the section NAME.
    init(title: String, section: Int, version: String, abstract: String) {
        let summary = abstract.hasSuffix(".") ? String(abstract.dropLast()) : abstract
        text = ".TH \(title.uppercased()) \(section) \"\" \"sluice \(version)\" \"Sluice\"\n"
        heading("NAME")
        text += "\(Self.escaped(title)) \\- \(Self.escaped(summary))\n"
    }

    mutating func heading(_ name: String) { text += ".SH \(name)\n" }

    mutating func subheading(_ name: String) {
        text += ".SS \"\(Self.escaped(name).replacing("\"", with: "\\(dq"))\"\n"
    }

    mutating func synopsis(_ program: String, _ words: String) {
        text += ".B \(Self.escaped(program))\n\(Self.escaped(words))\n"
    }

    /// A name and what it means.
    mutating func item(_ name: String, _ meaning: String) {
        text += ".TP\n.B \(Self.escaped(name))\n"
        if !meaning.isEmpty { text += "\(Self.line(meaning))\n" }
    }

    /// Adds help: paragraphs, and rows that begin with two blanks: a name, two blanks or more, what it means, which goes
    /// on in deeper lines.
    mutating func text(_ help: String) {
        var isNewParagraph = true
        for line in help.split(separator: "\n", omittingEmptySubsequences: false) {
            let indent = line.prefix { $0 == " " }.count
            let content = line.dropFirst(indent)
            if content.isEmpty {
                isNewParagraph = true
            } else if indent == 2 {
                let gap = content.firstRange(of: "  ")
                let meaning = gap.map { content[$0.upperBound...].drop { $0 == " " } } ?? ""
                item(String(content[..<(gap?.lowerBound ?? content.endIndex)]), String(meaning))
                isNewParagraph = false
            } else {
                if isNewParagraph && indent == 0 { text += ".PP\n" }
                text += "\(Self.line(String(content)))\n"
                isNewParagraph = false
            }
        }
    }

    /// A line of text, which must not look like a request.
    private static func line(_ text: String) -> String {
        text.hasPrefix(".") || text.hasPrefix("'") ? "\\&\(escaped(text))" : escaped(text)
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Lays rows out in columns for a terminal.
package enum TextTable {
    package static let maximumCellCharacters = 60

    /// A line for each row; columns of numbers stand to the right, control characters are escaped.
    package static func lines(_ rows: [[String]]) -> [String] {
        let cells = rows.map { $0.map { printable($0) } }
        guard let head = cells.first else { return [] }
        let widths = head.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        let isNumeric = head.indices.map { column in cells.dropFirst().allSatisfy { Int($0[column]) != nil } }
        return cells.map { row in
            let padded = row.indices.map { column in
                let pad = String(repeating: " ", count: widths[column] - row[column].count)
                return isNumeric[column] ? pad + row[column] : row[column] + pad
            }
            let line = padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// The text without anything that moves the cursor, cut when it is long.
    package static func printable(_ text: String, limit: Int = maximumCellCharacters) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
                line += "\\u{\(String(scalar.value, radix: 16))}"
            default: line.unicodeScalars.append(scalar)
            }
            if line.count > limit { return String(line.prefix(limit)) + "…" }
        }
        return line
    }
}

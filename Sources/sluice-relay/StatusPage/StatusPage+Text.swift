// SPDX-License-Identifier: Apache-2.0

extension StatusPage {
    /// Longest text that is shown of one that comes from outside, in characters.
    private static let maximumCharacters = 400

    /// Text that is safe between tags and in quoted attributes; what cannot be seen or turns the direction of writing is
    /// shown as its number.
    static func escaped(_ text: String) -> String {
        var result = ""
        for (position, scalar) in text.unicodeScalars.enumerated() {
            if position == maximumCharacters {
                result += "…"
                break
            }
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate:
                    result += "U+" + String(scalar.value, radix: 16, uppercase: true) + " "
                default: result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }

    /// A whole number with a narrow space between its thousands.
    static func grouped(_ number: Int) -> String {
        let digits = String(number.magnitude)
        var result = number < 0 ? "−" : ""
        for (position, digit) in digits.enumerated() {
            if position > 0 && (digits.count - position) % 3 == 0 { result += "\u{202F}" }
            result.append(digit)
        }
        return result
    }

    /// Per second: one digit behind the point while it tells something.
    static func rate(_ value: Double) -> String {
        if value >= 100 { return grouped(Int(value.rounded())) }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    static func size(_ bytes: Int) -> String {
        var value = Double(bytes)
        for unit in ["B", "KiB", "MiB", "GiB", "TiB"] {
            if value < 1024 || unit == "TiB" { return unit == "B" ? "\(bytes) B" : "\(rate(value)) \(unit)" }
            value /= 1024
        }
        return "\(bytes) B"
    }

    static func segments(_ count: Int) -> String { "\(grouped(count)) segment\(count == 1 ? "" : "s")" }

    /// The two largest units.
    static func duration(seconds: Int) -> String {
        let units = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)]
        guard let first = units.firstIndex(where: { seconds >= $0.1 }) else { return "0 s" }
        var parts = ["\(seconds / units[first].1) \(units[first].0)"]
        if first + 1 < units.count {
            let rest = seconds % units[first].1 / units[first + 1].1
            if rest > 0 { parts.append("\(rest) \(units[first + 1].0)") }
        }
        return parts.joined(separator: " ")
    }
}

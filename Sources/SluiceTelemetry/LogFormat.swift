// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// How a log entry becomes one line.
package enum LogFormat: String, CaseIterable, Sendable {
    /// For eyes: time, level, message, `name=value` in order of names.
    case text
    /// For machines: one JSON object with `time`, `level`, `label`, `message` and the metadata under their own names.
    case json

    /// A line never grows beyond what a pipe takes in one piece (`PIPE_BUF`), so lines of several threads or
    /// processes never mix.
    package static let maximumLineBytes = 4096
    private static let maximumValueBytes = 1500
    private static let ownNames: Set<String> = ["time", "level", "label", "message"]

    /// The entry's line with its newline; control characters are escaped, long values are cut.
    package func line(_ entry: Logger.Entry) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        switch self {
        case .text: writeText(entry, into: &line)
        case .json: writeJSON(entry, into: &line)
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private func writeText(_ entry: Logger.Entry, into line: inout [UInt8]) {
        line += CalendarTime.text(milliseconds: entry.time).utf8
        line += " \(entry.level.rawValue) \(entry.label): ".utf8
        appendEscaped(entry.message, quotes: false, into: &line)
        for (name, value) in entry.metadata.sorted(by: { $0.key < $1.key }) {
            let start = line.count
            line += " \(name)=".utf8
            if case .string(let text) = value, Self.needsQuotes(text) {
                line.append(UInt8(ascii: "\""))
                appendEscaped(text, quotes: true, into: &line)
                line.append(UInt8(ascii: "\""))
            } else {
                line += value.description.utf8
            }
            if line.count > Self.maximumLineBytes - 8 {
                line.removeLast(line.count - start)
                line += " …".utf8
                break
            }
        }
    }

    private func writeJSON(_ entry: Logger.Entry, into line: inout [UInt8]) {
        line += #"{"time":"\#(CalendarTime.text(milliseconds: entry.time))""#.utf8
        line += #","level":"\#(entry.level.rawValue)","label":""#.utf8
        appendEscaped(entry.label, quotes: true, into: &line)
        line += #"","message":""#.utf8
        appendEscaped(entry.message, quotes: true, into: &line)
        line.append(UInt8(ascii: "\""))
        for (name, value) in entry.metadata.sorted(by: { $0.key < $1.key }) {
            let start = line.count
            line += Self.ownNames.contains(name) ? ",\"metadata.".utf8 : ",\"".utf8
            appendEscaped(name, quotes: true, into: &line)
            line += "\":".utf8
            switch value {
            case .string(let text):
                line.append(UInt8(ascii: "\""))
                appendEscaped(text, quotes: true, into: &line)
                line.append(UInt8(ascii: "\""))
            case .number(let number) where !number.isFinite: line += "null".utf8
            default: line += value.description.utf8
            }
            if line.count > Self.maximumLineBytes - 24 {
                line.removeLast(line.count - start)
                line += #","cut":true"#.utf8
                break
            }
        }
        line.append(UInt8(ascii: "}"))
    }

    private static func needsQuotes(_ text: String) -> Bool {
        text.isEmpty
            || text.utf8.contains { $0 <= 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=") || $0 >= 0x7F }
    }

    /// Appends `text` so that it cannot end the line, leave its quotes, or drive a terminal (escape sequences, C1
    /// controls, reversed writing).
    private func appendEscaped(_ text: String, quotes: Bool, into line: inout [UInt8]) {
        let end = line.count + Self.maximumValueBytes
        for scalar in text.unicodeScalars {
            if line.count >= end {
                line += "…".utf8
                return
            }
            switch scalar.value {
            case 0x22, 0x5C:
                if quotes { line.append(UInt8(ascii: "\\")) }
                line.append(UInt8(scalar.value))
            case 0x0A: line += "\\n".utf8
            case 0x0D: line += "\\r".utf8
            case 0x09: line += "\\t".utf8
            case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
                let digits = String(scalar.value, radix: 16)
                line += "\\u".utf8
                line += String(repeating: "0", count: 4 - digits.utf8.count).utf8
                line += digits.utf8
            default: line += UTF8.encode(scalar).map(Array.init) ?? []
            }
        }
    }
}

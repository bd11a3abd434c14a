// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceJSON
import SluiceSystem

/// What a benchmark came to: its figures, and under which settings they were measured.
struct BenchmarkResult {
    let name: String
    /// Names and values of its options, in the order of its help.
    let settings: [(name: String, value: String)]
    var figures: [Figure]

    /// By this the same measurement of another day is known.
    var title: String {
        ([name] + settings.map { "--\($0.name) \($0.value)" }).joined(separator: " ")
    }

    var ratio: Figure? { figures.first { $0.name == Figure.ratioName } }

    // MARK: - Text

    /// A row for each figure, below a row of headings.
    var rows: [[String]] {
        let runs = figures.map(\.values.count).max() ?? 0
        let head = ["\(runs) runs", "median", "lowest", "highest", "target", ""]
        return [head]
            + figures.map { figure in
                [
                    figure.name.replacing("_", with: " "), Figure.text(figure.median), Figure.text(figure.lowest),
                    Figure.text(figure.highest), figure.target?.text ?? "", figure.standing,
                ]
            }
    }

    /// The table for a terminal.
    var lines: [String] { [title] + TextTable.lines(rows) }

    /// The table for a document.
    var markdown: [String] {
        let rows = rows
        guard let head = rows.first else { return [] }
        let rule = "|---|" + String(repeating: "---:|", count: 3) + "---|---|"
        return ["### `\(title)`", ""] + ["| " + head.joined(separator: " | ") + " |", rule]
            + rows.dropFirst().map { "| " + $0.joined(separator: " | ") + " |" }
    }
}

/// One JSON object in a line.
extension BenchmarkResult {
    var json: String {
        let settings = settings.map { #""\#($0.name)":\#($0.value)"# }.joined(separator: ",")
        let figures = figures.map { figure in
            var members = [
                #""median":\#(figure.median)"#,
                #""values":[\#(figure.values.map { "\($0)" }.joined(separator: ","))]"#,
            ]
            switch figure.target {
            case .atLeast(let bound): members.append(#""at_least":\#(bound)"#)
            case .atMost(let bound): members.append(#""at_most":\#(bound)"#)
            case nil: break
            }
            return #""\#(figure.name)":{\#(members.joined(separator: ","))}"#
        }
        return #"{"benchmark":"\#(name)","settings":{\#(settings)},"figures":{\#(figures.joined(separator: ","))}}"#
    }

    /// Reads the results in a file of lines.
    ///
    /// - Throws: when the file is none of ours.
    static func read(_ path: String) throws -> [BenchmarkResult] {
        let parser = JSONParser(maximumBytes: 1 << 20)
        var line = ByteBuffer()
        return try FileSystem.contents(of: path, limit: 64 << 20, followLinks: true)
            .split(separator: UInt8(ascii: "\n"))
            .map { piece in
                line.removeAll()
                line.append(Array(piece))
                guard let document = try? parser.parse(line.bytes),  // told below
                    let result = BenchmarkResult(document)
                else { throw CommandError(.badData, "\(path) holds something else than results of benchmarks") }
                return result
            }
    }

    private init?(_ document: JSONDocument) {
        guard let name = document.value(of: "benchmark", in: 0), document[name].kind == .string,
            let settings = document.value(of: "settings", in: 0),
            let figures = document.value(of: "figures", in: 0)
        else { return nil }
        self.name = document.string(document[name])
        self.settings = document.members(of: settings).map {
            (document.string(document[$0.key]), String(decoding: document.raw(document[$0.value]), as: UTF8.self))
        }
        self.figures = document.members(of: figures).map { Figure(document, $0.key, $0.value) }
    }
}

extension Figure {
    fileprivate init(_ document: JSONDocument, _ key: Int, _ object: Int) {
        func number(_ name: StaticString) -> Double? {
            document.value(of: name, in: object).flatMap {
                document[$0].isNumeric ? document.double(document[$0]) : nil
            }
        }
        name = document.string(document[key])
        let list = document.value(of: "values", in: object) ?? key
        values = document.elements(of: list).filter { document[$0].isNumeric }.map { document.double(document[$0]) }
        target = number("at_least").map { .atLeast($0) } ?? number("at_most").map { .atMost($0) }
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands

/// `sluice-bench check`: tells whether something has become much slower.
struct CheckCommand: Command {
    static let abstract = "Compare ratios to the floor with recorded ones."
    static let usage = "RECORDED MEASURED"
    static let help = """
        Both files hold what benchmarks print with --json, a line each. Every recorded result with a ratio to its floor
        must have been measured again, and the ratio must not have dropped by more than a third.

        Exit codes: 0 so it is; 65 it is not; 74 a file cannot be read.
        """

    private let recorded: String
    private let measured: String

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        let paths = try arguments.remaining("RECORDED", "MEASURED")
        (recorded, measured) = (paths[0], paths[1])
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let now = try BenchmarkResult.read(measured)
        var rows = [["ratio to the floor", "recorded", "measured", ""]]
        var isGood = true
        for before in try BenchmarkResult.read(recorded) {
            guard let old = before.ratio else { continue }
            let new = now.last { $0.title == before.title }?.ratio
            let holds = new.map { $0.median >= old.median * 2 / 3 } ?? false
            if !holds { isGood = false }
            rows.append([
                before.title, Figure.text(old.median), new.map { Figure.text($0.median) } ?? "missing",
                holds ? "" : "DROPPED by more than a third",
            ])
        }
        guard rows.count > 1 else { throw CommandError(.badData, "\(recorded) holds no ratio to a floor") }
        for line in TextTable.lines(rows) { try context.output.line(line) }
        return isGood ? .ok : .badData
    }
}

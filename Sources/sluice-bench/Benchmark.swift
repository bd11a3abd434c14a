// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSystem

/// What every benchmark can be told.
struct BenchmarkOptions {
    let events: Int
    let repeats: Int
    private let isJSON: Bool

    static let usage = "[--events N] [--repeat N] [--json]"

    /// Rows of the help.
    static func help(events: Int, _ what: String, repeats: Int = 5) -> [(String, String)] {
        [
            ("--events N", "\(what) Default: \(events)."),
            ("--repeat N", "Runs that count; a short one comes before them. Default: \(repeats)."),
            ("--json", "One JSON object instead of the table."),
        ]
    }

    init(_ arguments: inout Arguments, events: Int, repeats: Int = 5) throws(UsageError) {
        self.events = try arguments.integer("--events", in: 100...1_000_000_000) ?? events
        self.repeats = try arguments.integer("--repeat", in: 1...100) ?? repeats
        isJSON = try arguments.flag("--json")
    }

    /// What one run gave.
    typealias Sample = (name: String, value: Double)

    /// Measures again and again, each time in a folder of its own below the current one, and prints what came of it.
    ///
    /// * `settings`: what beside the number of events tells one measurement from another.
    /// * `targets`: of some figures.
    /// * `warmUp`: events of the run that does not count; 0 leaves it out.
    /// * `run`: is given the folder and the number of events.
    func measure(
        _ name: String,
        settings: [(name: String, value: String)] = [],
        targets: [String: Figure.Target] = [:],
        warmUp: Int,
        _ context: CommandContext,
        _ run: (_ folder: String, _ events: Int) throws -> [Sample]
    ) throws {
        let root = try Bench.makeFolder()
        defer { try? FileSystem.removeTree(root) }
        var figures: [Figure] = []
        for number in (warmUp > 0 ? -1 : 0)..<repeats {
            let folder = "\(root)/\(number)"
            try FileSystem.makeFolder(folder, mode: 0o700)
            let samples = try run(folder, number < 0 ? warmUp : events)
            try FileSystem.removeTree(folder)
            if number < 0 { continue }
            for sample in samples {
                let value = sample.value.isFinite ? sample.value : 0
                if let place = figures.firstIndex(where: { $0.name == sample.name }) {
                    figures[place].values.append(value)
                } else {
                    figures.append(Figure(name: sample.name, values: [value], target: targets[sample.name]))
                }
            }
        }
        let result = BenchmarkResult(name: name, settings: [("events", "\(events)")] + settings, figures: figures)
        for line in isJSON ? [result.json] : result.lines { try context.output.line(line) }
    }

    /// A short run that makes caches and clocks warm.
    var shortRun: Int { max(100, events / 5) }
}

/// Time and what a program used of it.
struct Stopwatch {
    private let begun = SystemClock.system.monotonicNanoseconds()

    var seconds: Double { Double(SystemClock.system.monotonicNanoseconds() - begun) / 1e9 }
    var milliseconds: Double { seconds * 1000 }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSystem
import Synchronization

/// `sluice-bench soak`: the real programs under faults, and an observer that counts.
struct SoakCommand: Command {
    static let abstract = "Break everything at random and prove that nothing acknowledged is lost."
    static let usage = "[--minutes N] [--rate EVENTS_PER_S] [--seed N] [--faults LIST] [OPTION…]"
    static let help = """
        Starts an endpoint, two relays (the second is a sidecar or a drain, in turns) and graphjson-stub, and lets clients
        post batches; a client repeats a batch until it is acknowledged. Faults come at random moments, which the seed
        repeats. Then everything is drained, and each acknowledged event is looked for: it was delivered as it was
        posted, or is in quarantine, or is accounted for in some other way that the ledger confirms.

        Options:
        \(HelpText.table([
            ("--minutes N", "How long clients post and faults come. Default: 1."),
            ("--rate EVENTS_PER_S", "What the clients post. Default: 2000."),
            ("--batch N", "Events of a request. Default: 20."),
            ("--seed N", "Repeats the choice of faults. Default: a new one, which is printed."),
            ("--faults LIST", "Only these, with commas; all or none. Default: all."),
            ("--without LIST", "All but these."),
            ("--interval SECONDS", "Mean time between two faults. Default: 3."),
            ("--real-disk", "Keep the spool on the disk instead of a filesystem in memory; the disk is not filled then."),
            ("--keep", "Keep the folder with logs and spool, which is kept after a failure in any case."),
            ("--sabotage KIND", "Behind everybody's back, lose a segment or alter a record, to see that it is seen."),
            ("--json", "One JSON object instead of the table."),
        ]))

        Faults: \(SoakFaultKind.allCases.map(\.rawValue).joined(separator: ", ")).
        kill and stop are SIGKILL and SIGTERM of a random program; reset is of clients' connections; clock needs faketime,
        disk the right to mount (else both are skipped with a word); damage overwrites bytes of sealed segments; replay
        puts quarantine back; poison are events that the destination refuses (400) or fails on (500); the rest is what the
        destination does.

        Exit codes:
          0   nothing lost, nothing altered, the ledger balanced, and no program crashed
          65  something of that is not so; the table names it, with examples
          70  the soak itself could not go on
        """
    static let takesSignals = true

    private let options: SoakOptions

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        options = try SoakOptions(&arguments)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let interrupts = Interrupts()
        context.signals.deliver { if $0 != .reload { interrupts.note() } }
        let folder = try FileSystem.resolvedPath(try Bench.makeFolder("soak"))
        context.note("seed \(options.seed), files in \(folder)")
        var isKept = true
        defer { if !isKept { try? FileSystem.removeTree(folder) } }
        let result = try soak(folder, interrupts, context)
        let report = SoakReport(result: result)
        if options.isJSON {
            try context.output.line(report.json)
        } else {
            for line in report.lines { try context.output.line(line) }
            for text in result.tally.lostExamples { try context.output.line("LOST     \(text)") }
        }
        isKept = options.keepsFolder || !result.isGood
        if isKept { context.note("everything is kept in \(folder)") }
        return result.isGood ? .ok : .badData
    }

    /// In a scope of its own, so that the programs have ended and the filesystem is gone before the folder is removed.
    private func soak(_ folder: String, _ interrupts: Interrupts, _ context: CommandContext) throws -> SoakResult {
        let soak = try Soak(
            options,
            folder: folder,
            interrupts: interrupts,
            tell: { context.note($0) }
        )
        let result = try soak.run()
        if options.keepsFolder || !result.isGood { try soak.keepSpool() }
        return result
    }
}

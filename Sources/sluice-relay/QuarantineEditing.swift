// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem
import SluiceTelemetry

/// What `quarantine replay` and `quarantine discard` have in common: choice, rehearsal, question, and what is said.
struct QuarantineEditing {
    static let help =
        QuarantineSelection.help + "\n"
        + HelpText.table([
            ("--limit N", "At most so many records, the oldest first."),
            ("--all", "Everything; a discard needs it where nothing else is chosen."),
            ("--dry-run", "Say what would happen and change nothing."),
            ("--yes", "Do not ask, also on a terminal."),
        ])

    let selection: QuarantineSelection
    let isDryRun: Bool
    private let source: ConfigurationSource
    private let limit: Int
    private let isSure: Bool

    init(
        _ arguments: inout Arguments,
        _ context: CommandContext,
        settings: [String] = SpoolReading.settings,
        mustChoose: Bool = false
    ) throws(UsageError) {
        isDryRun = try arguments.flag("--dry-run")
        let isAll = try arguments.flag("--all")
        isSure = try arguments.flag("--yes")
        limit = try arguments.integer("--limit", in: 1...Int.max) ?? .max
        source = try ConfigurationSource(&arguments, settings: settings, environment: context.environment)
        selection = try QuarantineSelection(&arguments)
        if mustChoose && selection.isEverything && limit == .max && !isAll {
            throw UsageError(
                "nothing is chosen: name files, or --reason, --event, --id, --release, --since, --until; or --all"
            )
        }
    }

    func configuration() throws(ConfigurationError) -> Configuration { try source.load() }

    /// Goes through quarantine; on a terminal it rehearses first and asks.
    func run(
        _ kind: QuarantineMove.Kind,
        verb: String,
        _ configuration: Configuration,
        _ context: CommandContext,
        decide: (QuarantineItem, inout ByteBuffer) throws(SpoolError) -> QuarantineEditor.Decision
    ) throws -> QuarantineEditor.Report {
        let spool = try SpoolFolder.open(configuration.spool.path, create: false, role: isDryRun ? .reader : .relay)
        let editor = QuarantineEditor(in: spool, ledger: try Ledger(in: spool))
        var total: Int?
        if !isDryRun && !isSure && isatty(STDIN_FILENO) == 1 {
            let report = try edit(editor, kind, spool, isDryRun: true, bar: nil, total: nil, decide)
            total = report.taken
            if report.taken > 0, !Self.confirms("\(verb) \(ProgressText.counted(report.taken, "record"))?") {
                throw CommandError(.tryLater, "nothing was changed")
            }
        }
        let bar = ProgressBar("quarantine \(kind.rawValue)", unit: "records")
        defer { bar.finish() }
        let report = try edit(editor, kind, spool, isDryRun: isDryRun, bar: bar, total: total, decide)
        for file in report.busyFiles {
            context.note("\(spool.quarantine(file)): a relay is busy with it; left as it is")
        }
        for file in report.damagedFiles { context.note("\(spool.quarantine(file)): damaged; left as it is") }
        if !isDryRun && report.taken > 0 {
            context.logger(configuration).notice(
                "Quarantine changed",
                metadata: [
                    "quarantine.action": .string(kind.rawValue), "records": .integer(report.taken),
                    "files": .integer(report.files), "user.id": .integer(Int(getuid())),
                ]
            )
        }
        return report
    }

    private func edit(
        _ editor: QuarantineEditor,
        _ kind: QuarantineMove.Kind,
        _ spool: SpoolFolder,
        isDryRun: Bool,
        bar: ProgressBar?,
        total: Int?,
        _ decide: (QuarantineItem, inout ByteBuffer) throws(SpoolError) -> QuarantineEditor.Decision
    ) throws -> QuarantineEditor.Report {
        let files = try selection.files(of: QuarantineFolder(of: spool), try Ledger.book(of: spool))
        var taken = 0
        return try editor.run(kind, files: Set(files.map(\.name)), isDryRun: isDryRun) {
            item,
            form throws(SpoolError) in
            guard taken < limit, selection.matches(item) else { return .leave }
            let decision = try decide(item, &form)
            if decision == .take {
                taken += item.records
                bar?.update(done: taken, total: total)
            }
            return decision
        }
    }

    /// The code of a run that changed what it could.
    static func exitCode(_ report: QuarantineEditor.Report) -> ExitCode {
        if report.failsAgain > 0 || !report.damagedFiles.isEmpty { return .badData }
        return report.busyFiles.isEmpty ? .ok : .tryLater
    }

    private static func confirms(_ question: String) -> Bool {
        let bytes = Array("\(question) [y/N] ".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
}

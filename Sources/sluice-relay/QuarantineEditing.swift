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
            ("--dry-run", "Say what would happen, for each reason, event and release, and change nothing."),
            ("--yes", "Do not ask, also on a terminal. Without a terminal nothing is ever asked."),
            ("--json", "What happened, or would, as one JSON object."),
        ])
    static let auditHelp = """
        Who did it, when, what was chosen and how many records it was stand in the ledger (grep ' audit ' spool/ledger) and
        go to standard error as a log line; ids of events and persons only as their number.
        """

    /// Decides about one record that was chosen, and notes why.
    typealias Judgement =
        (QuarantineItem, inout ByteBuffer, inout QuarantineTally) throws(SpoolError) -> QuarantineEditor.Decision

    /// What a run came to.
    struct Outcome {
        var report = QuarantineEditor.Report()
        var tally = QuarantineTally()
        /// It was ended before all was let go of.
        var isStopped = false
    }

    let selection: QuarantineSelection
    let isDryRun: Bool
    let isJSON: Bool
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
        isJSON = try arguments.flag("--json")
        let isAll = try arguments.flag("--all")
        isSure = try arguments.flag("--yes")
        limit = try arguments.integer("--limit", in: 1...Int.max) ?? .max
        source = try ConfigurationSource(&arguments, settings: settings, environment: context.environment)
        selection = try QuarantineSelection(&arguments)
        if mustChoose && selection.isEverything && limit == .max && !isAll {
            throw UsageError(
                "nothing is chosen: name files, or --reason, --event, --release, --build, --id, --user-id, "
                    + "--anonymous-id, --since, --until; or --all"
            )
        }
    }

    func configuration() throws(ConfigurationError) -> Configuration { try source.load() }

    /// Goes through quarantine; on a terminal it rehearses first and asks.
    ///
    /// * `pace`: lets go of records slowly; nil does it at once.
    func run(
        _ kind: QuarantineMove.Kind,
        verb: String,
        pace: ReplayPace? = nil,
        _ configuration: Configuration,
        _ context: CommandContext,
        judge: Judgement
    ) throws -> Outcome {
        let spool = try SpoolFolder.open(configuration.spool.path, create: false, role: isDryRun ? .reader : .relay)
        let ledger = try Ledger(in: spool)
        let editor = QuarantineEditor(in: spool, ledger: ledger)
        var rehearsal: Outcome?
        if !isDryRun && !isSure && Terminal.hasPerson {
            let outcome = try pass(editor, kind, spool, isDryRun: true, nil, judge)
            for line in outcome.tally.lines(verb) { context.note(line) }
            let count = ProgressText.counted(outcome.report.taken, "record")
            if outcome.report.taken > 0, !Terminal.confirms("\(verb) \(count)?") {
                throw CommandError(.tryLater, "nothing was changed")
            }
            rehearsal = outcome
        }
        var outcome: Outcome
        if let pace, !isDryRun {
            let total = try rehearsal ?? pass(editor, kind, spool, isDryRun: true, nil, judge)
            outcome = try paced(pace, editor, kind, spool, total, judge)
        } else {
            let bar = ProgressBar("quarantine \(kind.rawValue)", unit: "records")
            defer { bar.finish() }
            outcome = try pass(editor, kind, spool, isDryRun: isDryRun, (bar, rehearsal?.report.taken), judge)
        }
        for file in outcome.report.busyFiles {
            context.note("\(spool.quarantine(file)): a relay is busy with it; left as it is")
        }
        for file in outcome.report.damagedFiles { context.note("\(spool.quarantine(file)): damaged; left as it is") }
        if !isDryRun && outcome.report.taken > 0 {
            var selection = selection.summary
            if limit != .max { selection += " limit=\(limit)" }
            if let pace { selection += " rate=\(pace.eventsPerSecond)" }
            try Operator.current(context.environment).note(
                kind.rawValue,
                records: outcome.report.taken,
                selection: selection,
                in: ledger,
                context.logger(configuration)
            )
        }
        return outcome
    }

    private func pass(
        _ editor: QuarantineEditor,
        _ kind: QuarantineMove.Kind,
        _ spool: SpoolFolder,
        isDryRun: Bool,
        _ progress: (bar: ProgressBar, total: Int?)?,
        _ judge: Judgement
    ) throws -> Outcome {
        let files = try selection.files(of: QuarantineFolder(of: spool), try Ledger.book(of: spool))
        var outcome = Outcome()
        var tally = QuarantineTally()
        var taken = 0
        outcome.report = try editor.run(kind, files: Set(files.map(\.name)), isDryRun: isDryRun) {
            item,
            form throws(SpoolError) in
            guard taken < limit, selection.matches(item) else { return .leave }
            let decision = try judge(item, &form, &tally)
            tally.add(item, decision)
            if decision == .take {
                taken += item.records
                progress?.bar.update(done: taken, total: progress?.total)
            }
            return decision
        }
        outcome.tally = tally
        return outcome
    }

    /// Lets go of a slice, waits, lets go of the next; what is still in quarantine then is as it was.
    ///
    /// Only what was there at the start, so that what fails again and comes back is not put back once more.
    private func paced(
        _ pace: ReplayPace,
        _ editor: QuarantineEditor,
        _ kind: QuarantineMove.Kind,
        _ spool: SpoolFolder,
        _ rehearsal: Outcome,
        _ judge: Judgement
    ) throws -> Outcome {
        let total = min(limit, rehearsal.report.taken)
        var files = Set(
            try selection.files(of: QuarantineFolder(of: spool), try Ledger.book(of: spool)).map(\.name)
        )
        var outcome = rehearsal
        outcome.report.taken = 0
        outcome.report.segments = []
        let bar = ProgressBar("quarantine \(kind.rawValue)", unit: "records")
        defer { bar.finish() }
        while outcome.report.taken < total && !files.isEmpty {
            let slice = min(pace.sliceRecords, total - outcome.report.taken)
            let part: QuarantineEditor.Report
            do throws(SpoolError) {
                part = try editor.run(kind, files: files, stopsAfter: slice) { item, form throws(SpoolError) in
                    var ignored = QuarantineTally()
                    return selection.matches(item) ? try judge(item, &form, &ignored) : .leave
                }
            } catch {
                // Somebody else is at quarantine for a moment.
                guard error.code == .locked, pace.wait(seconds: 1) else { throw error }
                continue
            }
            for move in part.moves {
                files.remove(move.source)
                if let rest = move.rest { files.insert(rest) }
            }
            files.subtract(part.unchangedFiles + part.busyFiles + part.damagedFiles)
            outcome.report.completed += part.completed
            outcome.report.segments += part.segments
            outcome.report.taken += part.taken
            bar.update(done: outcome.report.taken, total: total)
            if part.taken == 0 { break }
            guard outcome.report.taken < total else { break }
            if !pace.wait(seconds: Double(part.taken) / pace.eventsPerSecond) {
                outcome.isStopped = true
                break
            }
        }
        return outcome
    }

    /// The code of a run that changed what it could.
    static func exitCode(_ outcome: Outcome) -> ExitCode {
        if outcome.isStopped { return .tryLater }
        let report = outcome.report
        if report.failsAgain > 0 || !report.damagedFiles.isEmpty { return .badData }
        return report.busyFiles.isEmpty ? .ok : .tryLater
    }

    /// One JSON object about what happened.
    func json(_ action: String, _ outcome: Outcome) -> String {
        let report = outcome.report
        return JSONLine.text(
            [
                ("action", .string(action)), ("dry_run", .boolean(isDryRun)), ("taken", .integer(report.taken)),
                ("fails_again", .integer(report.failsAgain)), ("left", .integer(report.left)),
                ("stopped", .boolean(outcome.isStopped)),
                ("segments", .list(report.segments.map { .string($0.text) })),
                ("busy_files", .list(report.busyFiles.map { .string($0.text) })),
                ("damaged_files", .list(report.damagedFiles.map { .string($0.text) })),
            ] + outcome.tally.members
        )
    }
}

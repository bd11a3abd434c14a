// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceEvents
import SluiceJSON
import SluiceSpool
import SluiceSystem

/// `sluice-relay quarantine replay`: puts records back for delivery.
struct QuarantineReplayCommand: Command {
    static let abstract = "Put records in quarantine back for delivery, judged again under the contract."
    static let usage = "[SEGMENT…] [--reason R] [--contract FILE] [--dry-run] [OPTION…]"
    static let help = """
        The chosen records become a new segment in ready/; the next drain or the running relay delivers them. Id, time
        and origin stay as they were, the number of replays grows by one. With a contract each record is judged again
        first, and what would be refused stays in quarantine; what the contract removes, such as unlisted properties,
        is gone for good and told. Without one, records go back as they are, except those that the endpoint itself set
        aside. Damaged bytes cannot be replayed. Killed at any moment, it is completed by the next replay or discard.

        \(QuarantineEditing.auditHelp)

        Options:
        \(QuarantineEditing.help)
        \(HelpText.table([
            ("--accept-clock", "Take the time of records that were set aside for it (too old, from the future) as it is."),
            (
                "--rate EVENTS_PER_S",
                "Put back at most so many a second on average, 50 at once or a second's worth, and stay until all are; SIGINT or SIGTERM ends it between two slices, and the rest stays in quarantine. What fails again meanwhile is not put back again."
            ),
        ]))
        \(ConfigurationSource.help(settings))

        Examples:
          sluice-relay quarantine replay --event chat_opened --contract contract.json5 --dry-run
          sluice-relay quarantine replay --event chat_opened --contract contract.json5
          sluice-relay quarantine replay --reason upstream_rejected --since 2d --rate 20

        Exit codes: 0 done; 65 some would fail again and stay, or a file is damaged; 75 another replay or discard is
        running, a relay is busy with a file, or --rate was stopped; 78 there is no spool, or the contract has faults.
        """
    static let takesSignals = true
    private static let settings = SpoolReading.settings + ["endpoint.contract"]

    private let editing: QuarantineEditing
    private let acceptsClock: Bool
    private let pace: ReplayPace?

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        acceptsClock = try arguments.flag("--accept-clock")
        pace = try arguments.number("--rate", in: 0.01...10_000_000).map { ReplayPace(eventsPerSecond: $0) }
        editing = try QuarantineEditing(&arguments, context, settings: Self.settings)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let configuration = try editing.configuration()
        var review = ReplayReview(
            contract: try configuration.contract(),
            clock: configuration.clockPolicy,
            acceptsClock: acceptsClock
        )
        context.signals.deliver { [pace] request in
            // Nothing is lost however it ends; with a pace it ends between two slices and says so.
            if let pace, request != .stopNow { pace.stop() } else { _exit(128 + SIGINT) }
        }
        let outcome = try editing.run(.replay, verb: "put back", pace: pace, configuration, context) {
            (item, form: inout ByteBuffer, tally: inout QuarantineTally) throws(SpoolError) in
            review.judge(item, &form, &tally)
        }
        if editing.isJSON {
            try context.output.line(editing.json("replay", outcome))
        } else {
            try say(outcome, context.output)
        }
        if outcome.report.completed > 0 {
            context.note("completed \(ProgressText.counted(outcome.report.completed, "move")) of an earlier run first")
        }
        return QuarantineEditing.exitCode(outcome)
    }

    private func say(_ outcome: QuarantineEditing.Outcome, _ output: Output) throws {
        let report = outcome.report
        let taken = ProgressText.counted(report.taken, "record")
        var line = "\(editing.isDryRun ? "would put back" : "put back") \(taken)"
        if !report.segments.isEmpty { line += " in \(ProgressText.counted(report.segments.count, "segment"))" }
        line += ", \(report.failsAgain) would fail again and stay, \(report.left) were not chosen"
        if outcome.isStopped { line += "; stopped, the rest stays in quarantine" }
        try output.line(line)
        for line in outcome.tally.lines(editing.isDryRun ? "would go back" : "put back") { try output.line(line) }
    }
}

/// Decides which records may go back, and in which form.
private struct ReplayReview: ~Copyable {
    private let contract: Contract?
    private let clock: ClockPolicy
    private let acceptsClock: Bool
    private var judge = EventJudge()

    init(contract: Contract?, clock: ClockPolicy, acceptsClock: Bool) {
        self.contract = contract
        self.clock = clock
        self.acceptsClock = acceptsClock
    }

    mutating func judge(
        _ item: QuarantineItem,
        _ form: inout ByteBuffer,
        _ tally: inout QuarantineTally
    ) -> QuarantineEditor.Decision {
        guard let token = item.recordToken else {
            tally.noteReason("damaged bytes, which cannot be replayed", item.records)
            return .failsAgain
        }
        // A line that is no record would only come back.
        guard let record = try? SpooledRecord(item.document, at: token) else {
            tally.noteReason("no record that this version can read")
            return .failsAgain
        }
        guard let contract else {
            guard record.isQuarantined else { return .take }
            tally.noteReason("set aside by the endpoint; name a contract (--contract FILE) to judge them again")
            return .failsAgain
        }
        let verdict = judge.rejudge(
            record,
            from: nil,
            by: contract,
            clock: clock,
            acceptsClock: acceptsClock,
            records: &form
        )
        let event = item.event.isEmpty ? "" : " of event \(TextTable.printable(item.event))"
        switch verdict {
        case .replayed(let removed):
            for name in removed {
                tally.noteLoss("without \(TextTable.printable(name))\(event), which the contract removes")
            }
            if form.bytes.last == UInt8(ascii: "\n") { form.truncate(to: form.count - 1) }
            return .take
        case .stays(let code, let detail):
            tally.noteReason("\(code.text): \(TextTable.printable(detail))\(event)")
            return .failsAgain
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
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

        Options:
        \(QuarantineEditing.help)
        \(HelpText.table([
            ("--accept-clock", "Take the time of records that were set aside for it (too old, from the future) as it is."),
        ]))
        \(ConfigurationSource.help(settings))

        Exit codes: 0 done; 65 some would fail again and stay, or a file is damaged; 75 another replay or discard is
        running, or a relay is busy with a file; 78 there is no spool, or the contract has faults.
        """
    private static let settings = SpoolReading.settings + ["endpoint.contract"]

    private let editing: QuarantineEditing
    private let acceptsClock: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        acceptsClock = try arguments.flag("--accept-clock")
        editing = try QuarantineEditing(&arguments, context, settings: Self.settings)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let configuration = try editing.configuration()
        var review = ReplayReview(
            contract: try configuration.contract(),
            clock: configuration.clockPolicy,
            acceptsClock: acceptsClock
        )
        let report = try editing.run(.replay, verb: "Put back", configuration, context) {
            (item, form: inout ByteBuffer) throws(SpoolError) in review.judge(item, &form)
        }
        let taken = ProgressText.counted(report.taken, "record")
        var line = "\(editing.isDryRun ? "would put back" : "put back") \(taken)"
        if !report.segments.isEmpty { line += " in \(ProgressText.counted(report.segments.count, "segment"))" }
        line += ", \(report.failsAgain) would fail again and stay, \(report.left) were not chosen"
        try context.output.line(line)
        for (reason, count) in review.reasons + review.losses { try context.output.line("  \(count) \(reason)") }
        if report.completed > 0 {
            context.note("completed \(ProgressText.counted(report.completed, "move")) of an earlier run first")
        }
        return QuarantineEditing.exitCode(report)
    }
}

/// Decides which records may go back, and in which form.
private struct ReplayReview: ~Copyable {
    private let contract: Contract?
    private let clock: ClockPolicy
    private let acceptsClock: Bool
    private var judge = EventJudge()
    private var counts: [String: Int] = [:]
    private var removals: [String: Int] = [:]

    init(contract: Contract?, clock: ClockPolicy, acceptsClock: Bool) {
        self.contract = contract
        self.clock = clock
        self.acceptsClock = acceptsClock
    }

    /// Why records stay, with their numbers, the most frequent first.
    var reasons: [(String, Int)] { Self.sorted(counts) }

    /// What records go back without, with their numbers, the most frequent first.
    var losses: [(String, Int)] { Self.sorted(removals) }

    private static func sorted(_ counts: [String: Int]) -> [(String, Int)] {
        counts.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    mutating func judge(_ item: QuarantineItem, _ form: inout ByteBuffer) -> QuarantineEditor.Decision {
        guard let token = item.recordToken else {
            Self.note("damaged bytes, which cannot be replayed", item.records, in: &counts)
            return .failsAgain
        }
        // A line that is no record would only come back.
        guard let record = try? SpooledRecord(item.document, at: token) else {
            Self.note("no record that this version can read", in: &counts)
            return .failsAgain
        }
        guard let contract else {
            guard record.isQuarantined else { return .take }
            Self.note("set aside by the endpoint; name a contract (--contract FILE) to judge them again", in: &counts)
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
                Self.note(
                    "without \(TextTable.printable(name))\(event), which the contract removes",
                    in: &removals,
                    else: "without others that the contract removes"
                )
            }
            if form.bytes.last == UInt8(ascii: "\n") { form.truncate(to: form.count - 1) }
            return .take
        case .stays(let code, let detail):
            Self.note("\(code.text): \(TextTable.printable(detail))\(event)", in: &counts)
            return .failsAgain
        }
    }

    private static func note(
        _ reason: String,
        _ records: Int = 1,
        in counts: inout [String: Int],
        else other: String = "for other reasons"
    ) {
        // The details come from events, and nobody knows how many different ones there are.
        let key = counts.count < 50 || counts[reason] != nil ? reason : other
        counts[key, default: 0] += records
    }
}

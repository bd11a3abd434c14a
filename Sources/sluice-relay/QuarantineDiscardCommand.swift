// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-relay quarantine discard`: gives records up.
struct QuarantineDiscardCommand: Command {
    static let abstract = "Give records in quarantine up: they are gone for good, and counted as discarded."
    static let usage = "[SEGMENT…] [--reason R] [--event E] [--dry-run] [OPTION…]"
    static let help = """
        Removes the chosen records and writes a line with their number to the ledger. Bytes of damaged segments go with
        the last entry that speaks of them. Killed at any moment, it is completed by the next replay or discard.

        \(QuarantineEditing.auditHelp)

        Options:
        \(QuarantineEditing.help)
        \(ConfigurationSource.help(SpoolReading.settings))

        Examples:
          sluice-relay quarantine discard --reason damaged --dry-run
          sluice-relay quarantine discard --event debug_ping --until 7d --yes

        Exit codes: 0 done; 65 a file is damaged and was left; 75 another replay or discard is running, or a relay is
        busy with a file; 78 there is no spool.
        """

    private let editing: QuarantineEditing

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        editing = try QuarantineEditing(&arguments, context, mustChoose: true)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let configuration = try editing.configuration()
        let outcome = try editing.run(.discard, verb: "discard", configuration, context) {
            (_, _: inout ByteBuffer, _: inout QuarantineTally) throws(SpoolError) in .take
        }
        if editing.isJSON {
            try context.output.line(editing.json("discard", outcome))
        } else {
            let verb = editing.isDryRun ? "would discard" : "discarded"
            let taken = ProgressText.counted(outcome.report.taken, "record")
            try context.output.line("\(verb) \(taken), \(outcome.report.left) stay")
            for line in outcome.tally.lines(editing.isDryRun ? "would go" : "discarded") {
                try context.output.line(line)
            }
        }
        return QuarantineEditing.exitCode(outcome)
    }
}

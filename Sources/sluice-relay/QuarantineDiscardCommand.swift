// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-relay quarantine discard`: gives records up.
struct QuarantineDiscardCommand: Command {
    static let abstract = "Give records in quarantine up: they are gone for good, and counted as discarded."
    static let usage = "[SEGMENT…] [--reason R] [--dry-run] [OPTION…]"
    static let help = """
        Removes the chosen records and writes a line with their number to the ledger. Bytes of damaged segments go with
        the last entry that speaks of them. Killed at any moment, it is completed by the next replay or discard.

        Options:
        \(QuarantineEditing.help)
        \(ConfigurationSource.help(SpoolReading.settings))

        Exit codes: 0 done; 65 a file is damaged and was left; 75 another replay or discard is running, or a relay is
        busy with a file; 78 there is no spool.
        """

    private let editing: QuarantineEditing

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        editing = try QuarantineEditing(&arguments, context, mustChoose: true)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let configuration = try editing.configuration()
        let report = try editing.run(.discard, verb: "Discard", configuration, context) {
            (_, _: inout ByteBuffer) throws(SpoolError) in .take
        }
        let taken = ProgressText.counted(report.taken, "record")
        try context.output.line("\(editing.isDryRun ? "would discard" : "discarded") \(taken), \(report.left) stay")
        return QuarantineEditing.exitCode(report)
    }
}

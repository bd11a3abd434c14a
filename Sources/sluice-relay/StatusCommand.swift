// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSpool

/// `sluice-relay status`: the books of the spool.
struct StatusCommand: Command {
    static let abstract = "Show what is in the spool, what became of the rest, and whether the books balance."
    static let usage = "[--json] [--spool DIR]"
    static let help = """
        Segments and bytes by place, the age of the oldest record, rates, quarantine by reason, the gate (whether the
        destination is open, and if not, until when and why), and the equation:
        accepted = delivered + duplicate + expired + discarded + erased + quarantined + pending.
        It is right at any moment, beside running programs and after kill -9. What does not add up is named, and the line
        then ends in (NOT balanced). Nothing is changed.

        Options:
        \(HelpText.table([("--json", "One JSON object; balanced, problems and notes are in it.")]))
        \(ConfigurationSource.help(SpoolReading.settings))

        Exit codes: 0 the books balance; 65 they do not; 78 there is no spool.

        Examples:
          sluice-relay status
          sluice-relay status --json
        """

    private let reading: SpoolReading
    private let isJSON: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        isJSON = try arguments.flag("--json")
        reading = try SpoolReading(&arguments, context)
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let status = try SpoolStatus.read(try reading.open())
        try context.output.write(Array((isJSON ? status.json + "\n" : status.text).utf8))
        return status.balanced ? .ok : .badData
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands

@main
struct Program {
    static func main() async {
        let table = CommandTable(
            program: "sluice-relay",
            abstract: "Delivers the events of a spool to GraphJSON; the only program that holds the API key.",
            commands: [
                ("run", RunCommand.self),
                ("drain", DrainCommand.self),
                ("status", StatusCommand.self),
                ("find", FindCommand.self),
                ("inspect", InspectCommand.self),
                ("verify", VerifyCommand.self),
                ("quarantine list", QuarantineListCommand.self),
                ("quarantine show", QuarantineShowCommand.self),
                ("quarantine replay", QuarantineReplayCommand.self),
                ("quarantine discard", QuarantineDiscardCommand.self),
                ("erase", EraseCommand.self),
                ("check", CheckCommand.self),
                ("health", HealthCommand.self),
            ]
        )
        await table.main()
    }
}

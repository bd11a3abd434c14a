// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceEndpoint
import SluiceEvents

/// `sluice-endpoint check`: what `serve` would say, without serving.
struct CheckCommand: Command {
    static let abstract = "Check the configuration, the contract and the keys, and what a new contract breaks."
    static let usage = "[--against OLD] [options]"
    static let help = """
        Reads the configuration, the contract and the keys of users' tokens as `serve` does, and lists every problem with
        its file and key. Nothing is touched.

        With --against it then compares the contract with an older one, a line for each difference with the key's path in
        the file. `breaks` is what an app notices, or a query: something that the old contract took whole is refused, set
        aside, loses a part, may expire, or arrives in another collection. `widens` is all else. In version control, before
        the change is merged: git show main:contract.json5 > old.json5

        Options:
        \(HelpText.table([
            ("--against OLD", "The contract that is in use now; the other one is to take its place."),
        ]))
        \(ConfigurationSource.help(EndpointConfiguration.settings))

        Exit codes:
          0   everything is in order, and the contract at most widens the old one
          65  the contract breaks something
          78  something is wrong with the configuration, a contract or a key

        Examples:
          sluice-endpoint check
          sluice-endpoint check --config staging.json5
          sluice-endpoint check --contract contract.json5 --against old.json5
        """

    private let source: ConfigurationSource
    private let against: String?

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        against = try arguments.option("--against")
        source = try ConfigurationSource(
            &arguments,
            settings: EndpointConfiguration.settings,
            environment: context.environment
        )
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let loaded = try EndpointConfiguration(source)
        for (name, nearest) in source.ignoredVariables {
            context.note("\(name) is no setting\(nearest.map { "; did you mean \($0)?" } ?? "")")
        }
        let contract = loaded.contract
        let definition = contract.definition
        try context.output.line("contract       \(contract.version), hash \(contract.hash)")
        try context.output.line("events         \(definition.events.count)")
        let versions = definition.schemaVersions
        try context.output.line("schema window  \(versions.lowerBound) to \(versions.upperBound)")
        try context.output.line("listen         \(loaded.configuration.endpoint.listen)")
        try context.output.line("tokens         \(loaded.configuration.auth.algorithm.rawValue)")
        try context.output.line("in order")
        guard let against else { return .ok }
        return try compare(contract, with: try Self.contract(against), context.output)
    }

    private static func contract(_ file: String) throws(ConfigurationError) -> Contract {
        do throws(ContractError) {
            return try Contract(file: file)
        } catch {
            throw ConfigurationError(error.problems.map { "\(error.file): \($0)" })
        }
    }

    private func compare(_ new: Contract, with old: Contract, _ output: Output) throws -> ExitCode {
        let comparison = ContractComparison(from: old.definition, to: new.definition)
        for change in comparison.changes {
            let text = TextTable.printable(change.text, limit: 500)
            try output.line("\(change.effect.rawValue)  \(TextTable.printable(change.path, limit: 500)): \(text)")
        }
        if new.version.utf8.elementsEqual(old.version.utf8) && new.hash != old.hash {
            try output.line("note    contract_version: \(new.version) as before, though the contracts differ")
        }
        let widening = comparison.changes.count - comparison.breakCount
        try output.line(
            comparison.changes.isEmpty
                ? "nothing changes against \(old.version)"
                : "against \(old.version): \(comparison.breakCount) break, \(widening) widen"
        )
        return comparison.breakCount > 0 ? .badData : .ok
    }
}

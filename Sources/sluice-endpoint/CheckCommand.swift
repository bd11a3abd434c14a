// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceEndpoint
import SluiceEvents

/// `sluice-endpoint check`: what `serve` would say, without serving.
struct CheckCommand: Command {
    static let abstract = "Check the configuration, the contract and the keys."
    static let usage = "[options]"
    static let help = """
        Reads the configuration, the contract and the keys of users' tokens as `serve` does, and lists every problem with
        its file and key. Nothing is touched.

        Options:
        \(ConfigurationSource.help(EndpointConfiguration.settings))

        Exit codes:
          0   everything is in order
          78  something is wrong

        Examples:
          sluice-endpoint check
          sluice-endpoint check --config staging.json5
        """

    private let source: ConfigurationSource

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
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
        return .ok
    }
}

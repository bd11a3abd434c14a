// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceEndpoint

/// `sluice-endpoint openapi`: the HTTP face under the loaded contract.
struct OpenAPICommand: Command {
    static let abstract = "Print an OpenAPI 3.1 document of the endpoint under its contract."
    static let usage = "[options]"
    static let help = """
        Reads configuration and contract as `serve` does and writes a document for people and tools to standard output.

        Options:
        \(ConfigurationSource.help(EndpointConfiguration.settings))

        Exit codes:
          0   done
          78  the configuration, the contract or a key is wrong

        Examples:
          sluice-endpoint openapi --contract contract.json5
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
        try context.output.line(OpenAPIDocument(loaded.policy).text)
        return .ok
    }
}

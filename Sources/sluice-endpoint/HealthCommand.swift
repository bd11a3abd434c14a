// SPDX-License-Identifier: Apache-2.0
import SluiceCommands

/// `sluice-endpoint health`: whether the one that runs on this machine is in order.
struct HealthCommand: Command {
    static let abstract = HealthCheck.abstract
    static let usage = HealthCheck.usage
    static let help = HealthCheck.help(of: "endpoint")

    private let check: HealthCheck

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        check = try HealthCheck(of: "endpoint", &arguments, context)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        try check.run(context) { $0.endpoint.adminListen }
    }
}

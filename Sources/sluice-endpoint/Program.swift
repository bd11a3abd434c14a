// SPDX-License-Identifier: Apache-2.0
import SluiceCommands

@main
struct Program {
    static func main() async {
        let table = CommandTable(
            program: "sluice-endpoint",
            abstract: "Takes events from apps and servers, checks them against a contract, and makes them durable.",
            commands: [
                ("serve", ServeCommand.self),
                ("check", CheckCommand.self),
                ("health", HealthCommand.self),
                ("validate", ValidateCommand.self),
                ("contract infer", ContractInferCommand.self),
                ("openapi", OpenAPICommand.self),
                ("import", ImportCommand.self),
            ]
        )
        await table.main()
    }
}

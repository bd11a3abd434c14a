// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceTelemetry

/// One verb of a program.
package protocol Command {
    /// One line for the list of verbs.
    static var abstract: String { get }
    /// The words behind the program and the verb, such as `[--deadline SECONDS]`.
    static var usage: String { get }
    /// What it does, its options and its exit codes; enough on its own.
    static var help: String { get }
    /// Whether it ends by itself on SIGTERM and SIGINT, through `CommandContext.signals`.
    static var takesSignals: Bool { get }

    /// Takes its options and words out of the command line.
    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError)

    func run(_ context: CommandContext) async throws -> ExitCode
}

extension Command {
    package static var takesSignals: Bool { false }
}

/// What a command is given to run with.
package struct CommandContext: Sendable {
    /// `sluice-relay`.
    package var program: String
    package var environment: [String: String]
    package var output: Output
    package var signals: Signals

    package init(program: String, environment: [String: String], output: Output, signals: Signals) {
        self.program = program
        self.environment = environment
        self.output = output
        self.signals = signals
    }

    /// Tells the person something beside the results, on standard error.
    package func note(_ text: String) {
        let bytes = Array("\(program): \(text)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    /// The log as the configuration wants it, on standard error.
    package func logOutput(_ configuration: Configuration) -> LogOutput {
        switch configuration.log.format {
        case .auto: LogOutput()
        case .text: LogOutput(format: .text)
        case .json: LogOutput(format: .json)
        }
    }

    /// A logger of the program at the configured level.
    package func logger(_ configuration: Configuration, _ output: LogOutput? = nil) -> Logger {
        (output ?? logOutput(configuration)).logger(label: program, level: configuration.log.level)
    }
}

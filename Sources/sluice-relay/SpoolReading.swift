// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSpool

/// What the commands that only look at a spool have in common.
struct SpoolReading {
    /// Settings that these commands take as options.
    static let settings = ["spool.path"]

    private let source: ConfigurationSource

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        source = try ConfigurationSource(&arguments, settings: Self.settings, environment: context.environment)
    }

    func configuration() throws(ConfigurationError) -> Configuration { try source.load() }

    /// Opens the spool; nothing in it is made, moved or removed.
    func open() throws -> SpoolFolder {
        try SpoolFolder.open(try source.load().spool.path, create: false, role: .reader)
    }
}

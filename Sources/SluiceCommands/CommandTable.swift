// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSpool
internal import SluiceSystem

/// A program's verbs: chooses one, runs it, and turns what comes of it into text and an exit code.
package struct CommandTable {
    package static let version = "0.1.0"

    private let program: String
    private let abstract: String
    private let commands: [(name: String, type: any Command.Type)]
    private let exitCode: (any Error) -> ExitCode?

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - program: the program's name.
    ///   - abstract: what the program is, one sentence.
    ///   - commands: verbs in the order of the help; one may be two words, `quarantine list`.
    ///   - exitCode: the codes of errors that this module does not know.
    package init(
        program: String,
        abstract: String,
        commands: [(name: String, type: any Command.Type)],
        exitCode: @escaping (any Error) -> ExitCode? = { _ in nil }
    ) {
        self.program = program
        self.abstract = abstract
        self.commands = commands
        self.exitCode = exitCode
    }

    /// The whole life of a program; its `main` does nothing else.
    package func main(_ words: [String] = ProcessArguments.words) async -> Never {
        StandardStreams.open()
        let chosen = choose(words)
        let signals = Signals.install(delivered: chosen?.type.takesSignals ?? false)
        let context = CommandContext(
            program: program,
            environment: ProcessEnvironment.current,
            output: Output(),
            signals: signals
        )
        let code = await run(words, chosen, context).rawValue
        // Not `exit`, which lets libraries clean up under threads that still use them: OpenSSL then ended one drain in
        // some hundred by a signal, after all its work was done. Output is flushed, and nothing else waits for the end.
        _exit(code)
    }

    private func run(
        _ words: [String],
        _ chosen: (name: String, type: any Command.Type, rest: [String])?,
        _ context: CommandContext
    ) async -> ExitCode {
        do {
            if let text = helpText(words, chosen) {
                try context.output.line(text)
                try context.output.flush()
                return .ok
            }
            guard let chosen else { throw UsageError(complaint(words)) }
            var arguments = Arguments(chosen.rest)
            let command = try chosen.type.init(&arguments, context)
            let code = try await command.run(context)
            try context.output.flush()
            return code
        } catch {
            try? context.output.flush()  // the error at hand is the one to tell
            return tell(error, verb: chosen?.name)
        }
    }

    // MARK: - Errors

    /// Writes an error to standard error.
    private func tell(_ error: any Error, verb: String?) -> ExitCode {
        let code = code(of: error)
        if let error = error as? SystemError, error.errno == EPIPE, error.path == "standard output" { return code }
        var text = "\(error)".split(separator: "\n").map { "\(program): \($0)\n" }.joined()
        if error is UsageError { text += "Try: \(program) \(verb.map { "\($0) " } ?? "")--help\n" }
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
        return code
    }

    private func code(of error: any Error) -> ExitCode {
        switch error {
        case is UsageError: .usage
        case is ConfigurationError: .configuration
        case let error as CommandError: error.exitCode
        case let error as SpoolError: error.exitCode
        default: exitCode(error) ?? (error is SystemError ? .io : .software)
        }
    }

    private func complaint(_ words: [String]) -> String {
        guard let word = words.first(where: { $0 != "help" }) else {
            return "a command is missing: \(commands.map(\.name).joined(separator: ", "))"
        }
        if word.hasPrefix("-") { return "a command must come before \(word)" }
        let tail = commands.filter { $0.name.hasPrefix(word + " ") }.map { String($0.name.dropFirst(word.count + 1)) }
        if !tail.isEmpty { return "\(word) needs one of: \(tail.joined(separator: ", "))" }
        let near = Nearest.name(to: word, among: commands.map(\.name))
        return "\(word) is no command" + (near.map { "; did you mean \($0)?" } ?? "")
    }

    // MARK: - Choice and help

    /// The command whose name is the longest start of `words`.
    private func choose(_ words: [String]) -> (name: String, type: any Command.Type, rest: [String])? {
        let found = commands.compactMap { name, type in
            let parts = name.split(separator: " ").map { String($0) }
            return words.starts(with: parts) ? (name, type, Array(words.dropFirst(parts.count))) : nil
        }
        return found.max { $0.0.utf8.count < $1.0.utf8.count }
    }

    /// The text that the words ask for, if it is help.
    private func helpText(
        _ words: [String],
        _ chosen: (name: String, type: any Command.Type, rest: [String])?
    ) -> String? {
        switch words.first {
        case "--version": return "\(program) \(Self.version)"
        case "--help", "-h": return overview
        case "help":
            let rest = Array(words.dropFirst())
            if rest == ["--configuration"] { return ConfigurationDocument.markdown }
            if rest == ["--configuration", "--manual"] { return ConfigurationDocument.manual(version: Self.version) }
            if rest == ["--manual"] { return manual }
            if rest.isEmpty { return overview }
            return choose(rest).map { help(of: $0.type, $0.name) }
        default: break
        }
        let options = (chosen?.rest ?? words).prefix { $0 != "--" }
        guard options.contains("--help") || options.contains("-h") else { return nil }
        return chosen.map { help(of: $0.type, $0.name) } ?? overview
    }

    private func help(of type: any Command.Type, _ name: String) -> String {
        let usage = type.usage.isEmpty ? "" : " \(type.usage)"
        return """
            Usage: \(program) \(name)\(usage)

            \(type.abstract)

            \(type.help)

            A wrong command line ends with 64. Every setting: \(program) help --configuration
            """
    }

    /// The program's page for `man`, from what the commands say of themselves.
    private var manual: String {
        var page = ManualPage(title: program, section: 1, version: Self.version, abstract: abstract)
        page.heading("SYNOPSIS")
        page.synopsis(program, "COMMAND [OPTION…]")
        page.heading("DESCRIPTION")
        page.text(abstract)
        page.text("The settings and their defaults: sluice.json5(5).")
        page.heading("COMMANDS")
        for (name, type) in commands {
            page.subheading("\(program) \(name) \(type.usage)")
            page.text(type.abstract)
            page.text(type.help)
        }
        page.heading("EXIT STATUS")
        page.text(Self.exitCodes)
        page.heading("FILES")
        page.text("  \(ConfigurationSource.defaultPath)  The configuration, unless --config names another.")
        page.heading("SEE ALSO")
        page.text("sluice-endpoint(1), sluice-relay(1), sluice.json5(5), lz4(1)")
        return page.text
    }

    private static let exitCodes = """
        Exit codes: 0 done; 64 wrong command line; 65 data damaged or refused, the rest is done; 69 destination
        refuses everything; 74 a system call failed; 75 work remains, run again; 78 wrong configuration.
        """

    private var overview: String {
        """
        Usage: \(program) COMMAND [OPTION…]

        \(abstract)

        \(HelpText.table(commands.map { ($0.name, $0.type.abstract) }))

        Each command explains itself: \(program) COMMAND --help
        Every setting: \(program) help --configuration; as pages for man: help --manual, help --configuration --manual
        \(Self.exitCodes)
        """
    }
}

extension SpoolError {
    /// How a command ends that this error ended.
    fileprivate var exitCode: ExitCode {
        // Not the configuration's fault: a supervisor is to start the program again.
        if code == .lockLost { return .io }
        switch code {
        // A disk that is full or fails may work later; what else an operator has to mend stays as it is till then.
        case .io, .outOfSpace: return .io
        default: if disposition == .stop { return .configuration }
        }
        switch code {
        case .damaged, .tooLarge, .notASpool, .nameTaken: return .badData
        case .unsupportedVersion, .permission, .wrongFilesystem: return .configuration
        case .locked, .stalled, .overloaded: return .tryLater
        case .io, .outOfSpace, .lockLost, .closed: return .io
        }
    }
}

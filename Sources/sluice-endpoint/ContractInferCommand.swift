// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceEndpoint
import SluiceEvents
import SluiceSystem

/// `sluice-endpoint contract infer`: a first contract from sample events.
struct ContractInferCommand: Command {
    static let abstract = "Draft a contract from sample events, for a person to read and mend."
    static let usage = "[--one-of N] [FILE…]"
    static let help = """
        Reads envelopes, one a line, or whole bodies {"events":[…]}, one a line or one a file, and writes a contract in
        JSON5 to standard output: the events and their properties, with types, largest lengths, ranges and closed sets of
        texts, required where they are in every sample, the platforms, schema versions and experiments. What it cannot
        list, such as a property of two types or one that looks like an e-mail address, stands there as a comment, and
        would be removed from events. Of the texts it saw, the draft holds only those of closed sets.

        It then judges all samples by the draft, as `import` would; a sample that even the draft refuses is told with file,
        line and code, and no contract could take it.

        Options:
        \(HelpText.table([
            (
                "--one-of N",
                "Most different texts of a property that count as a closed set, each seen five times on average; 0 for none. Default: 10."
            ),
        ]))
        \(ConfigurationSource.help([]))

        Exit codes:
          0   done
          65  done, and some samples are refused whatever a contract says
          74  an input can't be read

        Examples:
          sluice-endpoint contract infer sample.ndjson > contract.json5
          sluice-endpoint validate --contract contract.json5 --accept-clock sample.ndjson
        """

    private static let maximumLineBytes = 64 << 20

    private let source: ConfigurationSource
    private let maximumChoices: Int
    private let files: [String]

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        maximumChoices = try arguments.integer("--one-of", in: 0...50) ?? 10
        source = try ConfigurationSource(&arguments, environment: context.environment)
        files = try arguments.eventFiles()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let configuration = try source.load()
        try InputFile.check(files)
        let inputs = try files.map { try Input($0) }
        var sketch = ContractSketch(maximumChoices: maximumChoices)
        let bar = ProgressBar("contract infer", unit: "events")
        defer { bar.finish() }
        for input in inputs {
            var events = EventInput(try input.open(), maximumLineBytes: Self.maximumLineBytes)
            try events.read { document, _ in
                if !document.isTooLong { sketch.add(document.bytes) }
                bar.update(done: sketch.samples, total: nil)
            }
        }
        guard sketch.samples > 0 else { throw CommandError(.badData, "there are no sample events") }
        let draft = sketch.draft
        let contract = try Contract(parsing: Array(draft.utf8), file: "the draft")
        let tally = try judge(inputs, by: contract, configuration.eventLimits)
        bar.finish()
        try context.output.write(Array(draft.utf8))
        for problem in tally.problems { context.note("\(problem)") }
        context.note("\(tally.summary) by the draft")
        return tally.rejectedCount > 0 ? .badData : .ok
    }

    /// Judges the samples as `import --backfill` would.
    private func judge(_ inputs: [Input], by contract: Contract, _ limits: EventLimits) throws -> ImportTally {
        var limits = limits
        limits.maximumBodyBytes = Self.maximumLineBytes
        limits.maximumEvents = .max
        let admission = Admission(
            receivedAt: SystemClock.system.wallSeconds,
            collection: "samples",
            clock: .off,
            isServer: true
        )
        var judge = InputJudge(contract, under: admission, limits: limits)
        for input in inputs { try judge.take(try input.open(), named: input.name) }
        return judge.tally
    }

    /// An input that is read twice; standard input is kept in a file without a name meanwhile.
    private final class Input {
        let name: String
        private let path: String
        private let copy: File?

        init(_ file: String) throws {
            name = InputFile.name(of: file)
            guard try !InputFile.open(file).status().isRegularFile || file == "-" else {
                path = file
                copy = nil
                return
            }
            let folder = ProcessEnvironment.current["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
            let hidden = "\(folder)/sluice-samples-\(getpid())-\(UInt64.random(in: .min ... .max))"
            let made = try File(opening: hidden, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            try FileSystem.remove(hidden)
            try Self.copy(try InputFile.open(file), to: made)
            path = "/proc/self/fd/\(made.descriptor)"
            copy = consume made
        }

        func open() throws(SystemError) -> File { try InputFile.open(path) }

        private static func copy(_ source: consuming File, to target: borrowing File) throws(SystemError) {
            var buffer = ByteBuffer()
            while true {
                buffer.removeAll()
                var failure: SystemError?
                buffer.append(upTo: 256 << 10) { room in
                    do throws(SystemError) {
                        return try source.readSome(into: room)
                    } catch {
                        failure = error
                        return 0
                    }
                }
                if let failure { throw failure }
                if buffer.isEmpty { return }
                try target.write(buffer.bytes)
            }
        }
    }
}

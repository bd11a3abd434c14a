// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceEndpoint
import SluiceEvents
import SluiceSpool
import SluiceSystem

/// `sluice-endpoint import`: envelopes from files or a pipe into the spool.
struct ImportCommand: Command {
    static let abstract = "Put events from files or standard input into the spool."
    static let usage = "[--backfill] [options] [FILE…]"
    static let help = """
        Reads envelopes, one a line, or whole bodies {"events":[…]}, one a line or one a file, and judges them as if an
        app had posted them, with two differences: events that the contract takes from servers only are taken, and
        user_id is believed. A line that is refused costs no other; the first refusals are told with file and line.
        Without FILE, or for -, standard input is read. What is told as accepted is durable.

        Options:
        \(HelpText.table([
            ("--backfill", "For historic data: the clock policy is off, every occurred_at stays as it is.")
        ]))
        \(ConfigurationSource.help(ImportCommand.settings))

        Exit codes:
          0   everything was accepted
          65  something was rejected, everything else was accepted
          74  an input can't be read, or the spool takes nothing more
          78  the configuration, the contract or the spool's rights are wrong; nothing was touched

        Examples:
          sluice-endpoint import --contract contract.json5 envelopes.ndjson
          zcat 2026-10.ndjson.gz | sluice-endpoint import --backfill
        """

    private static let settings = ["spool.path", "endpoint.contract"]

    private let source: ConfigurationSource
    private let isBackfill: Bool
    private let files: [String]

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        isBackfill = try arguments.flag("--backfill")
        source = try ConfigurationSource(
            &arguments,
            settings: Self.settings,
            environment: context.environment
        )
        files = try arguments.eventFiles()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let configuration = try source.load()
        let contract = try configuration.requiredContract()
        // A mistyped name is told before anything is written.
        try InputFile.check(files)
        let folder = try SpoolFolder.open(configuration.spool.path, role: .writer)
        let writer = SegmentWriter(
            spool: folder,
            ledger: try Ledger(in: folder),
            options: try configuration.segmentWriterOptions(root: folder.root)
        )
        let bar = ProgressBar("import", log: context.logOutput(configuration))
        var importer = Importer(
            contract,
            under: admission(configuration),
            limits: configuration.eventLimits,
            into: writer
        )
        do {
            try take(with: &importer, bar)
            try importer.finish()
            writer.stop()
        } catch {
            writer.stop()
            bar.finish()
            try context.output.line("stopped early: \(writer.statistics.committedRecords) events are in the spool")
            throw error
        }
        bar.finish()
        for problem in importer.tally.problems { context.note("\(problem)") }
        let untold = importer.tally.rejectedCount - importer.tally.problems.count
        if untold > 0 { context.note("and \(untold) more") }
        try context.output.line(Self.text(importer.tally, seconds: bar.elapsedSeconds))
        return importer.tally.rejectedCount > 0 ? .badData : .ok
    }

    private func admission(_ configuration: Configuration) -> Admission {
        Admission(
            receivedAt: SystemClock.system.wallSeconds,
            collection: configuration.endpoint.collection,
            clock: isBackfill ? .off : configuration.clockPolicy,
            isServer: true,
            environment: configuration.endpoint.environment
        )
    }

    private func take(with importer: inout Importer, _ bar: ProgressBar) throws {
        let total = totalBytes()
        var before = 0
        for file in files {
            var size = 0
            try importer.take(try InputFile.open(file), named: InputFile.name(of: file)) { bytes, events in
                size = bytes
                // How many events there are is not known before the end, but how large the input is.
                bar.update(done: events, total: total.map { events * max($0, before + bytes) / max(before + bytes, 1) })
            }
            before += size
        }
    }

    /// Bytes of all inputs; nil when one of them is a pipe.
    private func totalBytes() -> Int? {
        var total = 0
        for file in files {
            var status = stat()
            let result = file == "-" ? fstat(STDIN_FILENO, &status) : stat(file, &status)
            guard result == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            total += Int(status.st_size)
        }
        return total
    }

    private static func text(_ tally: ImportTally, seconds: Double) -> String {
        let rate = Int(Double(tally.total) / max(seconds, 0.001))
        return "\(tally.summary); \(Int(seconds * 1000)) ms, \(rate) events/s"
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTelemetry

/// `sluice-relay drain`: delivers what is ready, and ends.
struct DrainCommand: Command {
    static let abstract = "Deliver everything that is ready, then exit; made for cron."
    static let usage = "[--deadline SECONDS] [options]"
    static let help = """
        Claims the sealed segments of the spool one after the other and posts their events to GraphJSON, at most 50 in
        a request. Drains that overlap, and a drain beside a running relay, share the work; none sends what another
        holds. What a killed relay left is taken over.

        Options:
        \(HelpText.table([
            (
                "--deadline SECONDS",
                """
                End after this time and keep the rest. Without it the drain goes on as long as events are delivered, \
                and waits up to relay.drain_patience_s (60 s) for a destination that is closed.
                """
            )
        ]))
        \(ConfigurationSource.help(RelaySetup.settings))

        The API key comes from GRAPHJSON_API_KEY, from systemd's credential graphjson_api_key, or from the file that
        --api-key-file or graphjson.api_key_file names.

        Exit codes:
          0   all delivered or in quarantine, or nothing to do
          65  everything deliverable is delivered, but damage was met; see: sluice-relay quarantine list
          69  the destination refuses everything, such as for a wrong key; all is kept
          75  work remains, or others still hold claims; the next run goes on
          78  the configuration, the key or the spool's rights are wrong; nothing was touched

        Examples:
          sluice-relay drain
          sluice-relay drain --deadline 50
        """
    static let takesSignals = true

    private let source: ConfigurationSource
    private let deadline: Double?

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        deadline = try arguments.number("--deadline", in: 0...86_400_000)
        source = try ConfigurationSource(
            &arguments,
            settings: RelaySetup.settings,
            environment: context.environment
        )
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let setup = try RelaySetup(source, context)
        let folder = try setup.openSpool()
        let total = context.output.isTerminal ? DrainCommand.readyRecords(folder) : nil
        let bar = ProgressBar("drain", log: setup.log)
        let summary = try await setup.run(
            .drain(deadlineSeconds: deadline),
            in: folder,
            metrics: RelayMetrics(in: MetricsRegistry())
        ) { bar.update(done: $0, total: total) }
        bar.finish()
        try context.output.line(
            DrainCommand.text(summary, pending: summary.isWorkLeft ? Self.pendingRecords(folder) : nil)
        )
        return DrainCommand.exitCode(summary)
    }

    /// Records that are ready, for the bar; nil when counting them would take longer than it is worth.
    private static func readyRecords(_ folder: SpoolFolder) -> Int? {
        guard let names = try? FileSystem.names(in: folder.ready), names.count < 10_000 else { return nil }
        // A segment that is claimed meanwhile, or can't be read, is left out of the bar.
        return names.reduce(0) { $0 + ((try? SegmentSummary(of: "\(folder.ready)/\($1)").totals.records) ?? 0) }
    }

    /// Records that are still to be sent, as the books say.
    static func pendingRecords(_ folder: SpoolFolder) -> Int? {
        try? SpoolStatus.read(folder, attempts: 1).pending  // a spool that can't be read is told elsewhere
    }

    static func exitCode(_ summary: RelaySummary) -> ExitCode {
        if summary.halt != nil { return .unavailable }
        if summary.isWorkLeft { return .tryLater }
        return summary.metDamage ? .badData : .ok
    }

    /// The one line that a drain prints.
    static func text(_ summary: RelaySummary, pending: Int? = nil) -> String {
        let counts = summary.counts
        var parts = ["delivered \(counts.delivered)"]
        for (name, count) in [
            ("duplicate", counts.duplicate), ("expired", counts.expired), ("erased", counts.erased),
            ("quarantined", counts.quarantined), ("damaged", counts.damaged),
        ] where count > 0 { parts.append("\(name) \(count)") }
        let seconds = max(summary.seconds, 0.001)
        let rate = Int(Double(counts.total) / seconds)
        let requests = "\(summary.requests) request\(summary.requests == 1 ? "" : "s")"
        var line = "\(parts.joined(separator: ", ")) in \(requests), "
        line += "\(Int(seconds * 1000)) ms, \(rate) events/s"
        if let halt = summary.halt {
            line += "; halted: \(halt)"
        } else if summary.isWorkLeft {
            line += "; work remains"
        }
        if let pending { line += "; \(ProgressText.counted(pending, "event")) left in the spool" }
        return line
    }
}

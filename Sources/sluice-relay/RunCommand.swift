// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTelemetry

/// `sluice-relay run`: the sidecar.
struct RunCommand: Command {
    static let abstract = "Deliver events as they come, until SIGTERM."
    static let usage = "[options]"
    static let help = """
        Runs beside the endpoint: claims segments as they are sealed and posts their events to GraphJSON, at most 50 in
        a request, with backoff and adaptive concurrency. Several relays on one spool share the work.

        SIGTERM and SIGINT end it in good order: requests under way get relay.shutdown_grace_s, what is unfinished
        goes back to ready/; a second signal does not wait. Where the spool is thrown away with its container,
        relay.stop_drain_s lets it deliver what is in the spool first. SIGHUP reads configuration and key again.

        Options:
        \(ConfigurationSource.help(settings))

        The API key comes from GRAPHJSON_API_KEY, from systemd's credential graphjson_api_key, or from the file that
        --api-key-file or graphjson.api_key_file names.

        Exit codes:
          0   stopped in good order
          74  the spool can no longer be used
          78  the configuration, the key or the spool's rights are wrong; nothing was touched

        Examples:
          sluice-relay run
          GRAPHJSON_API_KEY=any sluice-relay run --spool ./spool --graphjson-url http://127.0.0.1:9000
        """
    static let takesSignals = true
    private static let settings = RelaySetup.settings + ["relay.admin_listen"]

    private let source: ConfigurationSource

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        source = try ConfigurationSource(&arguments, settings: Self.settings, environment: context.environment)
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let setup = try RelaySetup(source, context)
        let folder = try setup.openSpool()
        let registry = MetricsRegistry()
        let health = Health()
        let notifier = SystemdNotifier(environment: context.environment)
        let watchdog = notifier.startWatchdog(health)
        ProcessMetrics.register(in: registry, version: CommandTable.version, program: context.program)
        let books = try SpoolMetrics(folder, setup.configuration)
        books.register(in: registry)
        let metrics = RelayMetrics(in: registry)
        let relay = setup.configuration.relay
        let statusPage: @Sendable () -> AdminListener.Page = {
            StatusPage(
                StatusPage.Content(
                    status: books.status,
                    spoolPath: folder.root,
                    host: Host.name,
                    version: CommandTable.version,
                    requestsInFlight: Int(metrics.inFlight.value),
                    concurrencyLimit: Int(metrics.concurrencyLimit.value),
                    problems: health.readinessProblems,
                    removedNames: metrics.removedNames.mostFrequent
                )
            ).page
        }
        let admin = try relay.adminListen.map {
            try AdminListener(
                $0,
                hosts: relay.adminHosts,
                registry: registry,
                health: health,
                pages: ["/": statusPage]
            )
        }
        defer {
            admin?.stop()
            watchdog?.stop()
        }
        setup.logger.notice(
            "Relay started",
            metadata: ["spool.path": .string(folder.root), "admin.address": .string(admin?.address ?? "off")]
        )
        notifier.ready()
        let summary = try await setup.run(
            .run,
            in: folder,
            metrics: metrics,
            health: health,
            notifier: notifier
        )
        var metadata: Logger.Metadata = [
            "events.delivered": .integer(summary.counts.delivered),
            "events.quarantined": .integer(summary.counts.quarantined), "requests": .integer(summary.requests),
        ]
        // On a volume that is thrown away this is what is lost.
        if let pending = DrainCommand.pendingRecords(folder) { metadata["events.left"] = .integer(pending) }
        setup.logger.notice("Relay stopped", metadata: metadata)
        if relay.stopDrain > .zero { tellLeft(folder, setup.logger) }
        return .ok
    }

    /// Says how many events are in a spool that may be thrown away now.
    private func tellLeft(_ folder: SpoolFolder, _ logger: Logger) {
        do throws(SpoolError) {
            let status = try SpoolStatus.read(folder)
            let counts: Logger.Metadata = [
                "events.pending": .integer(status.pending), "events.quarantined": .integer(status.quarantined),
            ]
            if status.pending + status.quarantined == 0 {
                logger.notice("Spool is empty", metadata: counts)
            } else {
                logger.warning("Events are left in the spool", metadata: counts)
            }
        } catch {
            logger.error("Events left in the spool can't be counted", metadata: ["error": .string(error.description)])
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceEndpoint
import SluiceEvents
import SluiceSpool
import SluiceSystem
import SluiceTelemetry

/// `sluice-endpoint serve`: what phones talk to.
struct ServeCommand: Command {
    static let abstract = "Take events over HTTP, until SIGTERM."
    static let usage = "[options]"
    static let help = """
        Listens for POST requests with batches of events, judges each event by the contract, and answers 200 once the
        accepted ones are on disk. The line `listening on ADDRESS:PORT` goes to standard output when requests are taken.

        TLS is the reverse proxy's. SIGTERM and SIGINT end it in good order: requests under way get
        endpoint.shutdown_grace_s; a second signal ends it at once, and recovery finds what was acknowledged. SIGHUP
        reads configuration, contract and keys again: with a fault in them the old ones stay. Addresses, threads,
        connection limits and the spool only change at a new start.

        Options:
        \(ConfigurationSource.help(EndpointConfiguration.settings))

        Exit codes:
          0   stopped in good order
          74  the address cannot be listened on, or the spool cannot be used
          78  the configuration, the contract, a key or the spool's rights are wrong; nothing was touched

        Examples:
          sluice-endpoint serve
          sluice-endpoint serve --contract contract.json5 --spool ./spool --listen 127.0.0.1:0
        """
    static let takesSignals = true

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
        let configuration = loaded.configuration
        let logger = context.logger(configuration)
        let spool = try SpoolFolder.open(configuration.spool.path, role: .writer)
        let recovery = try IncomingRecovery(in: spool)
        for problem in recovery.problems {
            logger.warning("Something in incoming/ was left alone", metadata: ["error": .string(problem.description)])
        }
        if !recovery.recovered.isEmpty {
            logger.notice("Segments recovered", metadata: ["segments": .integer(recovery.recovered.count)])
        }

        let registry = MetricsRegistry()
        let health = Health()
        ProcessMetrics.register(in: registry, version: CommandTable.version, program: context.program)
        try SpoolMetrics(spool, configuration).register(in: registry)
        let admin = try configuration.endpoint.adminListen.map {
            try AdminListener($0, hosts: configuration.endpoint.adminHosts, registry: registry, health: health)
        }
        let endpoint = try Endpoint(
            loaded.start(in: spool),
            policy: loaded.policy,
            spool: spool,
            registry: registry,
            health: health,
            logger: logger
        )
        let notifier = SystemdNotifier(environment: context.environment)
        let watchdog = notifier.startWatchdog(health)
        let (stops, stop) = AsyncStream.makeStream(of: Void.self)
        context.signals.deliver { request in
            switch request {
            case .stop: stop.yield()
            case .stopNow: ProcessEnd.now(ExitCode.tryLater.rawValue)
            case .reload: reload(endpoint, configuration, notifier, logger)
            }
        }
        try context.output.line("listening on \(endpoint.address)")
        try context.output.flush()
        logger.notice(
            "Endpoint started",
            metadata: [
                "address": .string(endpoint.address), "admin.address": .string(admin?.address ?? "off"),
                "spool.path": .string(spool.root), "contract.version": .string(loaded.contract.version),
                "contract.hash": .string(loaded.contract.hash),
            ]
        )
        notifier.ready()
        for await _ in stops { break }

        logger.notice("Endpoint stopping")
        notifier.stopping()
        try await onThread { endpoint.stop() }
        admin?.stop()
        watchdog?.stop()
        logger.notice(
            "Endpoint stopped",
            metadata: ["events.stored": .integer(endpoint.statistics.committedRecords)]
        )
        return .ok
    }

    /// Takes over what may change while it runs.
    private func reload(
        _ endpoint: Endpoint,
        _ before: Configuration,
        _ notifier: SystemdNotifier,
        _ logger: Logger
    ) {
        notifier.reloading()
        defer { notifier.ready() }
        do throws(ConfigurationError) {
            let loaded = try EndpointConfiguration(source)
            endpoint.policy = loaded.policy
            logger.notice(
                "Configuration and contract read again",
                metadata: [
                    "contract.version": .string(loaded.contract.version),
                    "contract.hash": .string(loaded.contract.hash),
                ]
            )
        } catch {
            for problem in error.problems {
                logger.error("Configuration refused; the old one stays", metadata: ["problem": .string(problem)])
            }
        }
    }

    /// Waits on a thread of its own, so that no thread of the pool is held.
    private func onThread(_ body: @escaping @Sendable () -> Void) async throws {
        await withCheckedContinuation { continuation in
            _ = SystemThread(name: "stop") {
                body()
                continuation.resume()
            }
        }
    }
}

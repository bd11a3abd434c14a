// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceGraphJSON
import SluiceHTTP
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTelemetry

/// What `run`, `drain` and `check` have in common: settings, key and spool, checked before anything is touched.
struct RelaySetup {
    /// Settings that these commands take as options.
    static let settings = ["spool.path", "graphjson.url", "graphjson.api_key_file"]

    let source: ConfigurationSource
    let configuration: Configuration
    let context: CommandContext
    let target: GraphJSONTarget
    let log: LogOutput
    let logger: Logger

    init(_ source: ConfigurationSource, _ context: CommandContext) throws {
        self.source = source
        self.context = context
        configuration = try source.load()
        target = try Self.target(configuration)
        log = context.logOutput(configuration)
        logger = context.logger(configuration, log)
        _ = try APIKey.read(configuration, environment: context.environment)
    }

    private static func target(_ configuration: Configuration) throws -> GraphJSONTarget {
        do throws(GraphJSONURLError) {
            return try GraphJSONTarget(url: configuration.graphjson.url)
        } catch {
            throw CommandError(.configuration, "graphjson.url: \(error)")
        }
    }

    /// The API key as it is now, from where the configuration names it now; nil when it can't be read.
    func apiKey() -> String? {
        do throws(ConfigurationError) {
            return try APIKey.read(try source.load(), environment: context.environment).secret.text
        } catch {
            logger.error("API key can't be read", metadata: ["error": .string(error.description)])
            return nil
        }
    }

    /// The same settings, read again from file and environment.
    func reloaded() throws -> RelaySetup { try RelaySetup(source, context) }

    func openSpool(_ role: SpoolFolder.Role = .relay) throws -> SpoolFolder {
        try SpoolFolder.open(configuration.spool.path, role: role)
    }

    func options(_ mode: RelayOptions.Mode) -> RelayOptions {
        let relay = configuration.relay
        var options = RelayOptions(mode: mode, target: target, bulk: bulk)
        options.timestampPrecision = configuration.graphjson.timestampPrecisionSeconds
        options.maximumInFlight = relay.maxInFlight
        options.maximumRequestBytes = relay.maxRequestBytes
        options.memoryBudgetBytes = relay.memoryBudgetBytes
        options.lingerSeconds = relay.linger.seconds
        options.backoff = Backoff(
            minimumSeconds: relay.backoffMin.seconds,
            maximumSeconds: relay.backoffMax.seconds
        )
        options.maximumProbeSeconds = relay.probeMax.seconds
        options.shutdownGraceSeconds = relay.shutdownGrace.seconds
        options.stopDrainSeconds = relay.stopDrain.seconds
        options.splitAfterFailures = relay.splitAfterFailures
        options.poisonAfterFailures = relay.poisonAfterFailures
        options.poisonAfterSeconds = relay.poisonAfter.seconds
        options.massRejectionWindow = relay.massRejectionWindow
        options.duplicateWindow = relay.duplicateWindow
        options.drainPatienceSeconds = relay.drainPatience.seconds
        options.quarantineMaximumBytes = configuration.spool.quarantineMaxBytes
        return options
    }

    var bulk: BulkShape {
        switch configuration.graphjson.bulk {
        case .sharedTimestamp: .sharedTimestamp
        case .timestamps: .timestamps
        case .single: .single
        }
    }

    var client: HTTPClientConfiguration {
        var client = HTTPClientConfiguration()
        client.connectTimeout = configuration.relay.connectTimeout
        client.idleTimeout = configuration.relay.idleTimeout
        client.totalTimeout = configuration.relay.requestTimeout
        client.userAgent = "sluice-relay/\(CommandTable.version)"
        return client
    }

    /// Runs a relay on a thread of its own, and hands signals to it.
    ///
    /// - Parameters:
    ///   - mode: a sidecar or a drain.
    ///   - folder: the spool.
    ///   - metrics: what is counted.
    ///   - health: is told of a loop that stands still and of a destination that is closed.
    ///   - notifier: is told of the same, of a new configuration, and of the end when it begins.
    ///   - onProgress: told the records resolved so far, on that thread.
    /// - Returns: what was done.
    /// - Throws: when the spool can't be used, or no longer.
    func run(
        _ mode: RelayOptions.Mode,
        in folder: SpoolFolder,
        metrics: RelayMetrics,
        health: Health? = nil,
        notifier: SystemdNotifier? = nil,
        onProgress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> RelaySummary {
        // Each claim may have its segment, progress and quarantine file open.
        DescriptorLimit.raise()
        let control = RelayControl()
        context.signals.deliver { request in
            switch request {
            case .stop:
                notifier?.stopping()
                control.stop()
            case .stopNow: control.giveUp()
            case .reload:
                notifier?.reloading()
                reload(control, mode)
                notifier?.ready()
            }
        }
        return try await withCheckedThrowingContinuation { continuation in
            _ = SystemThread(name: "relay") {
                do {
                    let relay = try Relay(
                        options: options(mode),
                        folder: folder,
                        client: client,
                        apiKey: apiKey,
                        control: control,
                        logger: logger,
                        metrics: metrics,
                        heartbeat: health?.heartbeat("relay", limitSeconds: 120)
                    )
                    relay.onRoad = { reason in
                        if let reason { health?.report("destination", reason) } else { health?.clear("destination") }
                        notifier?.status(reason.map { "Waiting for the destination: \($0)" } ?? "Delivering")
                    }
                    relay.onProgress = onProgress
                    continuation.resume(returning: try relay.run())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    private func reload(_ control: RelayControl, _ mode: RelayOptions.Mode) {
        do {
            control.reload(try reloaded().options(mode))
            logger.notice("Configuration read again")
        } catch {
            logger.error("Configuration refused; the old one stays", metadata: ["error": .string("\(error)")])
        }
    }
}

extension Duration {
    var seconds: Double {
        let parts = components
        return Double(parts.seconds) + Double(parts.attoseconds) / 1e18
    }
}

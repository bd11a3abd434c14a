// SPDX-License-Identifier: Apache-2.0
package import SluiceServer
package import SluiceSpool
package import SluiceSystem
package import SluiceTelemetry

/// What only counts at the start.
package struct EndpointStart: Sendable {
    package var server: ServerConfiguration
    package var writer = SegmentWriterOptions()
    /// For requests under way when the endpoint ends.
    package var shutdownGrace = Duration.seconds(5)

    package init(server: ServerConfiguration) {
        self.server = server
    }
}

/// The first-party collection endpoint: an HTTP server in front of a spool.
///
/// It answers 200 only when the events that the answer names as accepted are on disk.
package final class Endpoint: Sendable {
    private let setup: EndpointStart
    private let desk: RequestDesk
    private let server: HTTPServer
    private let writer: SegmentWriter
    private let monitor: SpoolMonitor
    private let logger: Logger

    /// Begins to take requests for a spool that was opened as a writer.
    ///
    /// - Throws: when the ledger cannot be opened or the address cannot be listened on.
    package init(
        _ setup: EndpointStart,
        policy: EndpointPolicy,
        spool: SpoolFolder,
        registry: MetricsRegistry,
        health: Health,
        logger: Logger,
        clock: SystemClock = .system
    ) throws {
        self.setup = setup
        self.logger = logger
        let ledger = try Ledger(in: spool, clock: clock)
        let clockGuard = ClockGuard(newestLedgerSeconds: try ledger.book().newestAt, clock: clock)
        let metrics = EndpointMetrics(in: registry)
        let writing = Writing()
        let monitor = SpoolMonitor(
            spool: spool,
            options: setup.writer,
            clock: clock,
            clockGuard: clockGuard,
            health: health,
            logger: logger,
            refusal: { writing.writer?.statistics.refusal }
        )
        let writer = SegmentWriter(
            spool: spool,
            ledger: ledger,
            options: setup.writer,
            clock: clock,
            handlers: Self.handlers(monitor, metrics, clockGuard, clock, logger)
        )
        writing.set(writer)
        let desk = RequestDesk(
            policy: policy,
            writer: writer,
            metrics: metrics,
            clockGuard: clockGuard,
            clock: clock,
            logger: logger
        )
        if let problem = clockGuard.problem { health.report("clock", problem) }
        do {
            server = try HTTPServer(setup.server, handler: desk.handler, clock: clock)
        } catch {
            writer.stop()
            throw error
        }
        self.desk = desk
        self.writer = writer
        self.monitor = monitor
        let server = self.server
        metrics.observe(
            bufferedBytes: { desk.budget.usedBytes },
            connections: { server.connectionCount },
            writer: { writer.statistics },
            contract: { desk.policy.contract }
        )
        monitor.start()
    }

    /// Where it listens, with the port that it got.
    package var address: String { server.address }
    package var port: UInt16 { server.port }

    /// What decides about requests that begin from now on.
    package var policy: EndpointPolicy {
        get { desk.policy }
        set { desk.policy = newValue }
    }

    package var statistics: SegmentWriterStatistics { writer.statistics }

    /// Ends in the order that loses nothing: no new requests, those under way are answered when their commit ends,
    /// the rest are answered 503, and the last segment is sealed.
    package func stop() {
        server.stopAccepting()
        server.stop(grace: setup.shutdownGrace)
        monitor.stop()
        if !writer.stop(within: .seconds(5)) {
            logger.error("The disk does not answer; the last segment is left to recovery")
        }
    }

    private static func handlers(
        _ monitor: SpoolMonitor,
        _ metrics: EndpointMetrics,
        _ clockGuard: ClockGuard,
        _ clock: SystemClock,
        _ logger: Logger
    ) -> SegmentWriter.Handlers {
        var handlers = SegmentWriter.Handlers()
        let succeeded = metrics.commits["ok"]
        handlers.completed = { completion in
            // A commit that hangs is only told here.
            if let error = completion.error { monitor.failed(error) }
            RequestDesk.complete(completion)
        }
        handlers.committed = { report in
            if let error = report.error {
                metrics.commits[error.code.rawValue].increment()
                monitor.failed(error)
            } else {
                metrics.commitDuration.record(nanoseconds: report.nanoseconds)
                succeeded.increment()
                monitor.succeeded()
            }
        }
        handlers.sealed = { (_, _) throws(SpoolError) in clockGuard.note(clock.wallSeconds) }
        handlers.takeRemovedNames = { metrics.removedNameTally.take() }
        handlers.failed = { error in
            logger.error(
                "Segment writing failed",
                metadata: ["error.code": .string(error.code.rawValue), "error": .string(error.description)]
            )
        }
        return handlers
    }
}

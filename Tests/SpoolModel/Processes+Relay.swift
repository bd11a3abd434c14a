// SPDX-License-Identifier: Apache-2.0
internal import SluiceGraphJSON
internal import SluiceHTTP
internal import SluiceRelay
internal import SluiceSpool
internal import SluiceTelemetry
internal import SluiceTestSupport

extension Processes {
    /// Runs a relay as `sluice-relay drain` does.
    @discardableResult
    func drain(_ policy: ModelUpstream.Policy, maximumInFlight: Int = 1, window: Int = 64) throws -> RelaySummary {
        relayCount += 1
        let number = relayCount
        let control = RelayControl()
        upstream.expect(relay: number, control: control, policy: policy)
        var options = RelayOptions(mode: .drain(deadlineSeconds: nil), target: try GraphJSONTarget(url: upstream.url))
        options.maximumInFlight = maximumInFlight
        options.backoff = Backoff(minimumSeconds: 0.001, maximumSeconds: 0.004)
        options.maximumProbeSeconds = 0.02
        options.duplicateWindow = window
        options.shutdownGraceSeconds = 1_000
        var client = HTTPClientConfiguration()
        client.keptConnections = 1
        let relay = try Relay(
            options: options,
            folder: spool,
            client: client,
            apiKey: { ModelUpstream.key(of: number) },
            control: control,
            clock: clock.clock,
            logger: log.logger(level: .warning),
            metrics: RelayMetrics(in: MetricsRegistry())
        )
        mark(.relayBegan(relay: number, maximumInFlight: maximumInFlight, hasWindow: window > 0))
        let summary = try relay.run()
        if policy.givesUp {
            mark(.relayDied(relay: number))
        } else {
            mark(.relayEnded(relay: number, leftNothing: try SpoolListing(of: spool).entries.isEmpty))
        }
        return summary
    }
}

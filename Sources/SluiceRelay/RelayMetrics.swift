// SPDX-License-Identifier: Apache-2.0
package import SluiceGraphJSON
package import SluiceSpool
package import SluiceTelemetry

/// What a relay tells Prometheus of its work.
package struct RelayMetrics: Sendable {
    /// Events by outcome; an outcome's raw value is its place.
    package let events: [Counter]
    package let requestDuration: Histogram
    package let inFlight: Gauge
    package let concurrencyLimit: Gauge
    package let backoffSeconds: Gauge
    package let halted: Gauge
    package let unsavedProgress: Gauge
    /// Names that the endpoint removed from the events of the segments that were read.
    package let removedNames: SharedNameTally
    /// Requests by how they ended.
    package let requests: [Verdict.Cause: Counter]

    package init(in registry: MetricsRegistry) {
        let results = registry.counters("sluice_relay_events_total", help: "Events by outcome.", labels: ["result"])
        events = (0...(Outcome.allCases.map(\.rawValue).max() ?? 0)).map { value in
            Outcome(rawValue: value).map { results[$0.name] } ?? Counter()
        }
        let requests = registry.counters(
            "sluice_relay_requests_total",
            help: "Requests by how they ended.",
            labels: ["class"]
        )
        self.requests = Dictionary(
            uniqueKeysWithValues: Verdict.Cause.allCases.map { ($0, requests[$0.rawValue]) }
        )
        requestDuration = registry.histogram(
            "sluice_relay_request_duration_seconds",
            help: "Time from sending a request to the end of its answer."
        )
        inFlight = registry.gauge("sluice_relay_in_flight_requests", help: "Requests under way.")
        concurrencyLimit = registry.gauge("sluice_relay_concurrency_limit", help: "Requests that may be under way.")
        backoffSeconds = registry.gauge("sluice_relay_backoff_seconds", help: "Time until the gate is tried again.")
        halted = registry.gauge("sluice_relay_halted", help: "1 while the destination refuses everything.")
        removedNames = SharedNameTally()
        unsavedProgress = registry.gauge(
            "sluice_relay_unsaved_outcomes",
            help: "Runs of outcomes that could not be written to the progress files yet."
        )
    }
}

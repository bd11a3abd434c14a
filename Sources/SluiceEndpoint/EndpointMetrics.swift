// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceSpool
internal import SluiceSystem
package import SluiceTelemetry

/// What the endpoint counts.
package final class EndpointMetrics: Sendable {
    let events: MetricFamily<Counter>
    let commitDuration: Histogram
    let commits: MetricFamily<Counter>
    let removedNames: Counter
    /// The same by name, for the footer of the next segment.
    let removedNameTally = SharedNameTally()
    let unknownBatchFields: Counter
    let clampedTimestamps: Counter
    let unprovenUsers: Counter
    let userMismatches: Counter
    let receivedBytes: Counter
    let refusedBodies: MetricFamily<Counter>
    let rateLimited: MetricFamily<Counter>
    let tokens: MetricFamily<Counter>
    let clientEvents: MetricFamily<Counter>
    let closedBodies: Counter
    private let requests: MetricFamily<Counter>
    private let accepted200: Counter
    private let drops: [Counter]
    private let registry: MetricsRegistry
    private let acceptedByEvent = Lock<(contract: ObjectIdentifier?, counters: [Counter])>((nil, []))

    package init(in registry: MetricsRegistry) {
        self.registry = registry
        requests = registry.counters(
            "sluice_endpoint_requests_total",
            help: "Requests that were answered.",
            labels: ["status"]
        )
        accepted200 = requests["200"]
        events = registry.counters(
            "sluice_endpoint_events_total",
            help: "Events whose verdict was answered; an accepted or quarantined one is durable.",
            labels: ["event", "result", "code"],
            maximumSeries: 5000
        )
        commitDuration = registry.histogram(
            "sluice_endpoint_commit_duration_seconds",
            help: "Time to write a group of requests and sync it."
        )
        commits = registry.counters(
            "sluice_endpoint_commits_total",
            help: "Groups of requests by result.",
            labels: ["result"]
        )
        // A first failure must be a rise of a series that was there before.
        for code in SpoolError.Code.allCases { _ = commits[code.rawValue] }
        removedNames = registry.counter(
            "sluice_endpoint_removed_names_total",
            help: "Fields, experiments and properties that were removed from accepted events."
        )
        unknownBatchFields = registry.counter(
            "sluice_endpoint_unknown_batch_fields_total",
            help: "Members beside events that nobody knows."
        )
        clampedTimestamps = registry.counter(
            "sluice_endpoint_timestamps_corrected_total",
            help: "Events whose timestamp the clock policy moved."
        )
        unprovenUsers = registry.counter(
            "sluice_endpoint_unproven_users_total",
            help: "Events with a user_id that nobody vouches for; mismatches included."
        )
        userMismatches = registry.counter(
            "sluice_endpoint_user_mismatch_total",
            help: "Events that name another user than the token."
        )
        receivedBytes = registry.counter("sluice_endpoint_received_bytes_total", help: "Bytes of bodies as they came.")
        refusedBodies = registry.counters(
            "sluice_endpoint_refused_requests_total",
            help: "Requests that were refused as a whole, by code.",
            labels: ["code"]
        )
        rateLimited = registry.counters(
            "sluice_endpoint_rate_limited_total",
            help: "Requests that were answered 429, by whose limit it was.",
            labels: ["key"]
        )
        tokens = registry.counters(
            "sluice_endpoint_tokens_total",
            help: "Tokens by what came of them.",
            labels: ["result"]
        )
        clientEvents = registry.counters(
            "sluice_endpoint_client_events_total",
            help: "Accepted events by the client that sent them.",
            labels: ["client"]
        )
        closedBodies = registry.counter(
            "sluice_endpoint_slow_bodies_closed_total",
            help: "Connections that were closed because memory was spent and theirs was the slowest body."
        )
        let family = registry.counters(
            "sluice_endpoint_client_drops_total",
            help: "Events that clients say they had to drop.",
            labels: ["reason"]
        )
        drops = ClientDrops.reasons.map { family["\($0)"] }
    }

    /// Counts the answer to a request.
    func answered(_ status: Int) {
        if status == 200 { accepted200.increment() } else { requests[String(status)].increment() }
    }

    func add(_ counts: ClientDrops) {
        for (counter, count) in zip(drops, counts.counts) where count > 0 { counter.increment(by: count) }
    }

    /// Counters of accepted events by their number in the contract.
    func accepted(by contract: Contract) -> [Counter] {
        let id = ObjectIdentifier(contract)
        return acceptedByEvent.withLock { known in
            if known.contract == id { return known.counters }
            known = (id, contract.eventNames.map { events[$0, "accepted", ""] })
            return known.counters
        }
    }

    /// Registers what is looked up when somebody asks.
    func observe(
        bufferedBytes: @escaping @Sendable () -> Int,
        connections: @escaping @Sendable () -> Int,
        writer: @escaping @Sendable () -> SegmentWriterStatistics,
        contract: @escaping @Sendable () -> Contract
    ) {
        registry.observe(
            "sluice_endpoint_buffered_bytes",
            help: "Bytes of bodies and of records that wait for the disk."
        ) {
            Double(bufferedBytes())
        }
        registry.observe("sluice_endpoint_connections", help: "Open connections.") { Double(connections()) }
        registry.observe(
            "sluice_endpoint_sealed_segments_total",
            .counter,
            help: "Segments that were handed to the relay."
        ) { [.init(value: Double(writer().sealedSegments))] }
        registry.observe(
            "sluice_endpoint_abandoned_segments_total",
            .counter,
            help: "Segments that were given up after a failed write, without losing what was acknowledged."
        ) { [.init(value: Double(writer().abandonedSegments))] }
        registry.observe(
            "sluice_endpoint_contract_info",
            .gauge,
            help: "Always 1; the labels name the contract.",
            labels: ["version", "hash"]
        ) { [.init(labels: [contract().version, contract().hash], value: 1)] }
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem
import SluiceTelemetry

/// Depth and age of the spool for `/metrics`, read from its books at most every five seconds.
final class SpoolMetrics: Sendable {
    private static let lifetimeNanoseconds: Int64 = 5_000_000_000

    private struct State {
        var reading: SpoolStatusReading
        var status = SpoolStatus()
        var readAt: Int64?
    }

    private let state: Lock<State>

    init(_ spool: SpoolFolder) { state = Lock(State(reading: SpoolStatusReading(of: spool))) }

    func register(in registry: MetricsRegistry) {
        registry.observe("sluice_spool_segments", help: "Segments by state.", labels: ["state"]) {
            Self.samples(self.status.segments)
        }
        registry.observe("sluice_spool_bytes", help: "Bytes of segment files by state.", labels: ["state"]) {
            Self.samples(self.status.bytes)
        }
        registry.observe(
            "sluice_spool_oldest_record_age_seconds",
            help: "Age of the oldest segment with pending records."
        ) { Double(self.status.oldestRecordAgeSeconds ?? 0) }
        registry.observe("sluice_spool_pending_records", help: "Records that are still to be sent.") {
            Double(self.status.pending)
        }
        registry.observe("sluice_spool_quarantined_records", help: "Records in quarantine.", labels: ["reason"]) {
            self.status.quarantineReasons.sorted { $0.key < $1.key }.prefix(100)
                .map { MetricsRegistry.Sample(labels: [$0.key], value: Double($0.value)) }
        }
        registry.observe("sluice_spool_balanced", help: "1 while every accepted record is accounted for.") {
            self.status.balanced ? 1 : 0
        }
    }

    private static func samples(_ places: SpoolStatus.Places) -> [MetricsRegistry.Sample] {
        [
            ("open", places.open), ("ready", places.ready), ("claimed", places.claimed),
            ("quarantine", places.quarantine),
        ].map { MetricsRegistry.Sample(labels: [$0.0], value: Double($0.1)) }
    }

    /// The books, at most five seconds old.
    var status: SpoolStatus {
        state.withLock { state in
            let now = SystemClock.system.monotonicNanoseconds()
            if let readAt = state.readAt, now - readAt < Self.lifetimeNanoseconds { return state.status }
            state.readAt = now
            // A spool that can't be read shows its last figures; the relay itself says what is wrong.
            if let status = try? state.reading.read() { state.status = status }
            return state.status
        }
    }
}

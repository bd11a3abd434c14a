// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
package import SluiceSpool
package import SluiceSystem
package import SluiceTelemetry

/// Depth, age, room and books of a spool for `/metrics`, the same from both programs.
///
/// They are read from the spool when somebody asks, on a thread of their own: a large quarantine takes long to read, and
/// neither must a scrape wait for it, nor may frequent scrapes cost more than a fiftieth of a core.
package final class SpoolMetrics: Sendable {
    /// The least time between two readings.
    private static let lifetime: Int64 = 5_000_000_000
    /// A scrape waits this long for a reading; then it gets what the last one found.
    private static let patience: Int64 = 2_000_000_000
    /// Reasons of quarantine that the programs give.
    ///
    /// A file may hold any other text, which counts as `other`: a label must not grow without bounds, nor show what
    /// somebody wrote into a file.
    static let reasons =
        EventCode.allCases.map { "\($0.text)" } + [
            "upstream_rejected", "upstream_failing", "payload_too_large", "invalid_record",
            QuarantineEntry.damagedReason, QuarantineEntry.tornTailReason, "other",
        ]

    /// What one reading found.
    private struct Reading {
        var status = SpoolStatus()
        var usedBytes = 0
        var freeBytes = 0
        /// Monotonic nanoseconds of its end; nil before the first that succeeded.
        var readAt: Int64?
        var nanoseconds: Int64 = 0
    }

    private struct State {
        var reading = Reading()
        var failures = 0
        /// When the reading began that is under way, or the last one.
        var beganAt: Int64 = .min
        var isReading = false
        /// When the next one may begin.
        var nextAt: Int64 = .min
    }

    private let spool: SpoolFolder
    private let maximumBytes: Int
    private let quarantineMaximumBytes: Int
    private let minimumFreeBytes: Int
    private let clock = SystemClock.system
    private let lock = ThreadLock()
    private let done: ThreadCondition
    // Only touched with the lock held.
    private nonisolated(unsafe) var state = State()
    // Only touched by the thread that reads, of which there is one at a time.
    private nonisolated(unsafe) var books: SpoolStatusReading

    /// Takes the limits of a configuration, which stand beside what is used of them.
    ///
    /// - Throws: when the size of the spool's filesystem can't be had.
    package init(_ spool: SpoolFolder, _ configuration: Configuration) throws(SystemError) {
        self.spool = spool
        books = SpoolStatusReading(of: spool)
        maximumBytes = configuration.spool.maxBytes
        quarantineMaximumBytes = configuration.spool.quarantineMaxBytes
        minimumFreeBytes = try configuration.segmentWriterOptions(root: spool.root).minimumFreeBytes
        done = ThreadCondition(with: lock)
    }

    /// The books: a few seconds old, older when they take long to read.
    package var status: SpoolStatus { current().status }

    package func register(in registry: MetricsRegistry) {
        registerPlaces(in: registry)
        registerBooks(in: registry)
        registerRoom(in: registry)
        registerReading(in: registry)
    }

    private func registerPlaces(in registry: MetricsRegistry) {
        gauges(registry, "segments", "Segments by state.", labels: ["state"]) { Self.samples($0.status.segments) }
        gauges(registry, "bytes", "Bytes of segment files by state.", labels: ["state"]) {
            Self.samples($0.status.bytes)
        }
        gauge(registry, "oldest_record_age_seconds", "Age of the oldest segment with pending records; 0 without any.") {
            Double($0.status.oldestRecordAgeSeconds ?? 0)
        }
        gauge(registry, "pending_records", "Records that are still to be sent.") { Double($0.status.pending) }
        gauges(registry, "quarantined_records", "Records in quarantine by reason.", labels: ["reason"]) {
            Self.samples($0.status.quarantineReasons)
        }
    }

    private func registerBooks(in registry: MetricsRegistry) {
        gauge(registry, "balanced", "1 while every accepted record is accounted for.") { $0.status.balanced ? 1 : 0 }
        registry.observe(
            "sluice_spool_accepted_records_total",
            .counter,
            help: "Records that were ever put into the spool."
        ) { self.samples { [.init(value: Double($0.status.accepted))] } }
        registry.observe(
            "sluice_spool_resolved_records_total",
            .counter,
            help: "Records that are no longer in the spool, by what became of them.",
            labels: ["result"]
        ) {
            self.samples { reading in
                Outcome.allCases.filter { $0 != .quarantined }.map {
                    .init(labels: [$0.name], value: Double(reading.status.counts[$0]))
                }
            }
        }
        gauge(registry, "halted", "1 while the destination refuses everything, as the gate file says.") {
            $0.status.gate?.haltedReason == nil ? 0 : 1
        }
        gauge(registry, "closed_seconds", "Seconds until the destination is tried again, as the gate file says.") {
            Double($0.status.gate?.remainingMilliseconds(at: $0.status.takenAtMilliseconds) ?? 0) / 1000
        }
    }

    private func registerRoom(in registry: MetricsRegistry) {
        gauge(registry, "used_bytes", "Disk that the spool takes without its quarantine.") { Double($0.usedBytes) }
        gauge(registry, "free_bytes", "Room on the filesystem of the spool.") { Double($0.freeBytes) }
        let (limit, quarantine) = (Double(maximumBytes), Double(quarantineMaximumBytes))
        let free = Double(minimumFreeBytes)
        registry.observe(
            "sluice_spool_limit_bytes",
            help: "The setting spool.max_bytes; above it new events are refused."
        ) { limit }
        registry.observe(
            "sluice_spool_quarantine_limit_bytes",
            help: "The setting spool.quarantine_max_bytes; above it bad records stay pending."
        ) { quarantine }
        registry.observe(
            "sluice_spool_min_free_bytes",
            help: "The setting spool.min_free_bytes; with less room new events are refused."
        ) { free }
    }

    private func registerReading(in registry: MetricsRegistry) {
        registry.observe("sluice_spool_reading_age_seconds", .gauge, help: "Age of the figures of the spool.") {
            let now = self.clock.monotonicNanoseconds()
            return self.samples { [.init(value: Double(now - ($0.readAt ?? now)) / 1e9)] }
        }
        gauge(registry, "reading_duration_seconds", "Time that it took to read the figures of the spool.") {
            Double($0.nanoseconds) / 1e9
        }
        registry.observe(
            "sluice_spool_reading_failures_total",
            .counter,
            help: "Attempts to read the figures of the spool that failed."
        ) {
            self.lock.lock()
            defer { self.lock.unlock() }
            return [.init(value: Double(self.state.failures))]
        }
    }

    // MARK: - Samples

    private func gauge(
        _ registry: MetricsRegistry,
        _ name: String,
        _ help: String,
        value: @escaping @Sendable (Reading) -> Double
    ) {
        gauges(registry, name, help, labels: []) { [.init(value: value($0))] }
    }

    private func gauges(
        _ registry: MetricsRegistry,
        _ name: String,
        _ help: String,
        labels: [String],
        samples: @escaping @Sendable (Reading) -> [MetricsRegistry.Sample]
    ) {
        registry.observe("sluice_spool_\(name)", .gauge, help: help, labels: labels) { self.samples(samples) }
    }

    /// No samples before the first reading: a spool that could not be read yet is not empty.
    private func samples(_ make: (Reading) -> [MetricsRegistry.Sample]) -> [MetricsRegistry.Sample] {
        let reading = current()
        return reading.readAt == nil ? [] : make(reading)
    }

    private static func samples(_ places: SpoolStatus.Places) -> [MetricsRegistry.Sample] {
        [
            ("open", places.open), ("ready", places.ready), ("claimed", places.claimed),
            ("quarantine", places.quarantine),
        ].map { MetricsRegistry.Sample(labels: [$0.0], value: Double($0.1)) }
    }

    /// A sample for each known reason, so that growth from nothing is a change of a series that was there.
    private static func samples(_ counts: [String: Int]) -> [MetricsRegistry.Sample] {
        var known = [Int](repeating: 0, count: reasons.count)
        for (reason, count) in counts {
            known[reasons.firstIndex { $0.utf8.elementsEqual(reason.utf8) } ?? reasons.count - 1] += count
        }
        return zip(reasons, known).map { .init(labels: [$0], value: Double($1)) }
    }

    // MARK: - Reading

    /// The last reading, or the next one if it is due and quick.
    private func current() -> Reading {
        lock.lock()
        defer { lock.unlock() }
        var now = clock.monotonicNanoseconds()
        if !state.isReading && now >= state.nextAt {
            state.isReading = true
            state.beganAt = now
            _ = SystemThread(name: "sluice-books") { self.read() }
        }
        while state.isReading && now - state.beganAt < Self.patience {
            done.wait(nanoseconds: Self.patience - (now - state.beganAt))
            now = clock.monotonicNanoseconds()
        }
        return state.reading
    }

    private func read() {
        let began = clock.monotonicNanoseconds()
        var reading = Reading()
        var isRead = true
        do {
            reading.status = try books.read()
            reading.usedBytes = try SpoolRoom.usedBytes(at: spool.root)
            reading.freeBytes = try FileSystem.freeBytes(at: spool.root)
        } catch {
            // The figures of before stay, and age; the program itself says what is wrong with the spool.
            isRead = false
        }
        let ended = clock.monotonicNanoseconds()
        reading.readAt = ended
        reading.nanoseconds = ended - began
        lock.lock()
        if isRead { state.reading = reading } else { state.failures += 1 }
        state.isReading = false
        state.nextAt = ended + max(Self.lifetime, 50 * (ended - began))
        done.broadcast()
        lock.unlock()
    }
}

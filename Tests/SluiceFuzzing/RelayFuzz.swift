// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceGraphJSON
internal import SluiceHTTP
internal import SluiceRelay
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTelemetry
internal import SluiceTestSupport

/// Whatever stands in a segment, a drain ends, what it sends can be read, every record is delivered or in quarantine once,
/// and the books balance.
///
/// The input is as for `segment`.
final class RelayFuzz {
    /// What has come of one drain.
    private final class Arrivals: Sendable {
        struct Counts {
            var requests = 0
            var events = 0
            var unreadable = 0
        }

        private let counts = Lock(Counts())

        func take() -> Counts {
            counts.withLock { counts in
                defer { counts = Counts() }
                return counts
            }
        }

        func add(_ body: [UInt8]) {
            let events = PlainJSON(body)?["jsons"]?.elements?.compactMap(\.text).map { PlainJSON($0) } ?? [nil]
            counts.withLock { counts in
                counts.requests += 1
                counts.events += events.count
                let isReadable = events.allSatisfy { $0?["event_id"] != nil && $0?.hasTwins == false }
                if !isReadable { counts.unreadable += 1 }
            }
        }
    }

    private let folder = TemporaryFolder()
    private let arrivals: Arrivals
    private let server: ScriptedServer

    init() {
        let arrivals = Arrivals()
        self.arrivals = arrivals
        server = ScriptedServer { _ in
            .decide { request in
                arrivals.add(request.body)
                return .status(200, body: "{}")
            }
        }
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        _ = arrivals.take()
        var isHonest = false
        let bytes: [UInt8]
        switch input.first {
        case nil: return
        case 0: bytes = Array(input.dropFirst())
        case 1: bytes = SegmentScript.signed(Array(input.dropFirst()))
        default:
            let script = SegmentScript(input.from(1))
            bytes = script.bytes
            isHonest = script.isHonest
        }
        let root = folder.path("spool")
        defer { try? FileSystem.removeTree(root) }  // the next input makes it again
        let spool = try SpoolFolder.open(root, role: .relay)
        let file = try File(opening: spool.ready(ScratchSpool.segment), O_WRONLY | O_CREAT | O_EXCL)
        try bytes.withUnsafeBytes { try file.write($0) }
        let summary = try drain(spool)
        let arrived = arrivals.take()
        try hold(arrived.unreadable == 0, "a request that cannot be read")
        try hold(arrived.requests == summary.requests, "\(arrived.requests) requests, \(summary.requests) counted")
        try hold(arrived.events == summary.counts.delivered, "\(arrived.events) came, \(summary.counts) delivered")
        let status = try SpoolStatus.read(spool, attempts: 1)
        // A footer or count frame that lies is told as what it is.
        try hold(status.balanced || !isHonest, "the books: \(status.problems)")
        try hold(
            status.pending == 0 || summary.isWorkLeft,
            "\(status.pending) records are left by a drain that is done"
        )
        try hold(status.counts.delivered == summary.counts.delivered, "delivered by the ledger and by the run")
    }

    private func drain(_ spool: SpoolFolder) throws -> RelaySummary {
        var options = RelayOptions(mode: .drain(deadlineSeconds: 20), target: try GraphJSONTarget(url: server.url))
        options.backoff = Backoff(minimumSeconds: 0.001, maximumSeconds: 0.02)
        options.duplicateWindow = 1000
        let relay = try Relay(
            options: options,
            folder: spool,
            client: HTTPClientConfiguration(),
            apiKey: { "test-key" },
            control: RelayControl(),
            clock: .system,
            logger: LogRecorder().logger(),
            metrics: RelayMetrics(in: MetricsRegistry())
        )
        return try relay.run()
    }
}

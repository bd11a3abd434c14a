// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceGraphJSON
import SluiceHTTP
import SluiceJSON
import SluiceRelay
import SluiceSpool
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

/// A real spool, a real relay in this process, and an upstream of the test's own.
final class RelayFixture {
    let temporary = TemporaryFolder()
    let spool: SpoolFolder
    let log = LogRecorder()
    let server: ScriptedServer
    private var sequence: UInt64 = 0
    private let writer = UInt64.random(in: .min ... .max)
    /// Backoff and probes as short as a test wants them; the counts are the product's.
    var options: RelayOptions

    /// Makes the spool in `root`, or else in the temporary folder.
    init(_ upstream: Upstream = Upstream(), root: String? = nil) throws {
        spool = try SpoolFolder.open("\(root ?? temporary.path)/spool", role: .writer)
        server = upstream.server()
        options = RelayOptions(mode: .drain(deadlineSeconds: 20), target: try GraphJSONTarget(url: server.url))
        options.backoff = Backoff(minimumSeconds: 0.001, maximumSeconds: 0.02)
        options.maximumProbeSeconds = 0.05
        options.duplicateWindow = 10_000
    }

    deinit { server.stop() }

    /// Puts a sealed segment with these records into `ready/`, as a writer does.
    @discardableResult
    func seal(_ records: [String], footer: Bool = true, isNoted: Bool = true) throws -> SegmentName {
        let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: writer, sequence: sequence)
        sequence += 1
        let file = try SegmentFile(
            creating: name,
            in: spool.ready,
            as: name.sealedFileName,
            createdAt: 1_796_000_000
        )
        var lines = ByteBuffer(capacity: 1 << 16)
        for record in records {
            lines.append(record)
            lines.append("\n")
        }
        if !records.isEmpty { try file.append(lines: lines.bytes, receivedAt: 1_796_000_000...1_796_000_000) }
        if footer && isNoted { try Ledger(in: spool).append([.sealed(name, records: records.count)]) }
        try file.finish(footer: footer)
        return name
    }

    /// The records of a range of numbers, `evt_<number>`, all of one second.
    static func records(_ numbers: Range<Int>, event: String = "screen_view") -> [String] {
        numbers.map { record("evt_\($0)", event: event) }
    }

    static func record(
        _ id: String,
        event: String = "screen_view",
        timestamp: Int = 1_796_000_000,
        extra: String = "",
        properties: String = "{}"
    ) -> String {
        #"{"received_at":1796000010,"collection":"mobile_events","timestamp":\#(timestamp),\#(extra)"trusted":{},"#
            + #""envelope":{"event":"\#(event)","event_id":"\#(id)","occurred_at":\#(timestamp),"anonymous_id":"a","#
            + #""session_id":"s","app_version":"1","build_number":"1","platform":"ios","schema_version":1,"#
            + #""properties":\#(properties)}}"#
    }

    func relay(_ control: RelayControl = RelayControl(), clock: SystemClock = .system) throws -> Relay {
        var client = HTTPClientConfiguration()
        client.connectTimeout = .seconds(2)
        client.totalTimeout = .seconds(2)
        return try Relay(
            options: options,
            folder: spool,
            client: client,
            apiKey: { "test-key" },
            control: control,
            clock: clock,
            logger: log.logger(),
            metrics: RelayMetrics(in: MetricsRegistry())
        )
    }

    /// Drains the spool once.
    @discardableResult
    func drain(clock: SystemClock = .system) throws -> RelaySummary { try relay(clock: clock).run() }

    /// What stands in quarantine, as reason and event id.
    func quarantined() throws -> [(reason: String, id: String, line: String)] {
        var found: [(reason: String, id: String, line: String)] = []
        let folder = QuarantineFolder(of: spool)
        for file in try folder.files(try Ledger.book(of: spool)) {
            _ = try folder.read(file) { (item) throws(SpoolError) in
                let document = item.document
                let reason = document.value(of: "reason", in: 0).map { document.string(document[$0]) } ?? ""
                let id = item.recordToken
                    .flatMap { document.value(of: "envelope", in: $0) }
                    .flatMap { document.value(of: "event_id", in: $0) }
                    .map { document.string(document[$0]) }
                found.append((reason, id ?? "", String(decoding: item.line, as: UTF8.self)))
            }
        }
        return found
    }

    var readyNames: [String] { (try? FileSystem.names(in: spool.ready)) ?? [] }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import SluiceJSON
import SluiceSystem
import SluiceTestSupport
import Testing

/// A running `graphjson-stub` with its store.
final class StubProcess {
    /// What arrived, as the store tells it.
    struct Event {
        var id: String
        var event: String
        var timestamp: Int
        var occurredAt: Int
        var request: Int
    }

    let process: RunningProcess
    let address: String
    private let folder = TemporaryFolder()

    convenience init(_ flags: String..., listen: String = "127.0.0.1:0") throws {
        try self.init(flags: flags, listen: listen)
    }

    init(flags: [String], listen: String = "127.0.0.1:0") throws {
        process = try ProcessRunner().start(
            "graphjson-stub",
            ["--listen", listen, "--key", "test-key", "--store", folder.path("store")] + flags
        )
        address = try #require(process.line(startingWith: "listening on "))
    }

    var url: String { "http://\(address)" }

    /// A number of `GET /stats`.
    func statistic(_ name: StaticString) throws -> Int {
        let completion = HTTPClient.exchange(.get("\(url)/stats"))
        guard case .answer(let answer) = completion.result else {
            Issue.record("no statistics: \(completion)")
            return -1
        }
        var buffer = ByteBuffer(capacity: answer.body.count)
        buffer.append(answer.body)
        let document = try JSONParser(maximumBytes: 1 << 20).parse(buffer.bytes)
        let value = try #require(document.value(of: name, in: 0))
        return try #require(document.integer(document[value]))
    }

    /// The ids of everything that was taken, sorted, by what stands before their first dash.
    func idsByPrefix() throws -> [String: [String]] {
        var ids: [String: [String]] = [:]
        for event in try events() {
            let parts = event.id.split(separator: "-", maxSplits: 1)
            ids[String(parts[0]), default: []].append(parts.count > 1 ? String(parts[1]) : "")
        }
        return ids.mapValues { $0.sorted() }
    }

    /// Everything that was taken, in order.
    func events() throws -> [Event] {
        let bytes = try FileSystem.contents(of: folder.path("store"), limit: 1 << 30)
        let parser = JSONParser(maximumBytes: 1 << 20)
        var line = ByteBuffer(capacity: 1 << 16)
        return try bytes.split(separator: UInt8(ascii: "\n")).map { piece in
            line.removeAll()
            piece.withUnsafeBytes { line.append($0) }
            let document = try parser.parse(line.bytes)
            func integer(_ name: StaticString, in object: Int) throws -> Int {
                try #require(document.value(of: name, in: object).flatMap { document.integer(document[$0]) })
            }
            let json = try #require(document.value(of: "json", in: 0))
            let id = try #require(document.value(of: "event_id", in: json))
            let event = try #require(document.value(of: "event", in: json))
            return Event(
                id: document.string(document[id]),
                event: document.string(document[event]),
                timestamp: try integer("timestamp", in: 0),
                occurredAt: try integer("occurred_at", in: json),
                request: try integer("request", in: 0)
            )
        }
    }
}

extension SampleSpool {
    /// The runner of a relay that delivers to `stub`.
    static func runner(_ settings: [String: String] = [:]) -> ProcessRunner {
        ProcessRunner(environment: settings.merging(["GRAPHJSON_API_KEY": "test-key"]) { $1 })
    }

    func drain(
        to stub: StubProcess,
        _ arguments: [String] = [],
        settings: [String: String] = [:]
    ) throws -> ProcessRunner.Result {
        try Self.runner(settings).run(
            "sluice-relay",
            ["drain", "--spool", path, "--graphjson-url", stub.url] + arguments,
            seconds: 300
        )
    }

    /// Drains into the destination at `url`, perhaps under an injector; for closures that run at once.
    func drain(
        to url: String,
        settings: [String: String],
        under injector: FaultInjector? = nil
    ) throws -> ProcessRunner.Result {
        try Self.runner(settings).under(injector)
            .run("sluice-relay", ["drain", "--spool", path, "--graphjson-url", url])
    }

    func startDrain(to stub: StubProcess, settings: [String: String] = [:]) throws -> RunningProcess {
        try Self.runner(settings).start("sluice-relay", ["drain", "--spool", path, "--graphjson-url", stub.url])
    }

    func startRun(to stub: StubProcess, settings: [String: String] = [:]) throws -> RunningProcess {
        try Self.runner(settings).start(
            "sluice-relay",
            ["run", "--spool", path, "--graphjson-url", stub.url, "--admin", "127.0.0.1:0"]
        )
    }

    /// Seals `count` events into segments, with ids `<prefix>-<number>`.
    func fill(_ count: Int, prefix: String = "evt", perSegment: Int = 5000, firstSequence: Int = 0) throws {
        var sequence = firstSequence
        for start in stride(from: 0, to: count, by: perSegment) {
            let ids = (start..<min(count, start + perSegment)).map { "\(prefix)-\($0)" }
            let groups = stride(from: 0, to: ids.count, by: 500).map { Array(ids[$0..<min(ids.count, $0 + 500)]) }
            try seal(groups, sequence: sequence)
            sequence += 1
        }
    }

    /// Whether the books balance; what `status` says if not.
    func unbalanced() throws -> String? {
        let result = try relay("status", "--json")
        return result.code == 0 ? nil : "\(result.code) \(result.output) \(result.errors)"
    }
}

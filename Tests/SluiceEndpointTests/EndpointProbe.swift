// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceEndpoint
import SluiceEvents
import SluiceServer
import SluiceSpool
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

/// An endpoint in this process with a spool of its own and a wall clock that a test sets.
final class EndpointProbe: Sendable {
    /// Five seconds after the inputs' events were sent.
    static let receivedAt: Int64 = 1_796_000_010

    let endpoint: Endpoint
    let registry = MetricsRegistry()
    let health = Health()
    let log = LogRecorder()
    let wall: ManualClock
    private let folder = TemporaryFolder()
    private let clock: SystemClock

    init(
        contract: Contract? = nil,
        tokens: TokenVerifier? = nil,
        start change: (inout EndpointStart) -> Void = { _ in },
        settings: (inout EndpointPolicy.Settings) -> Void = { _ in }
    ) throws {
        wall = ManualClock(wallMilliseconds: Self.receivedAt * 1000)
        let wallClock = wall.clock
        clock = SystemClock(
            wallMilliseconds: wallClock.wallMilliseconds,
            monotonicNanoseconds: SystemClock.system.monotonicNanoseconds
        )
        var start = EndpointStart(server: ServerConfiguration(host: "127.0.0.1", port: 0))
        start.shutdownGrace = .seconds(5)
        change(&start)
        endpoint = try Endpoint(
            start,
            policy: Self.policy(contract: contract ?? Inputs.contract(), tokens: tokens, settings: settings),
            spool: SpoolFolder.open(folder.path("spool"), role: .writer),
            registry: registry,
            health: health,
            logger: log.logger(),
            clock: clock
        )
    }

    deinit { endpoint.stop() }

    static func policy(
        contract: Contract,
        tokens: TokenVerifier? = nil,
        settings change: (inout EndpointPolicy.Settings) -> Void = { _ in }
    ) -> EndpointPolicy {
        var settings = EndpointPolicy.Settings()
        settings.rateLimits = .off
        change(&settings)
        return EndpointPolicy(settings, contract: contract, tokens: tokens)
    }

    var spoolPath: String { folder.path("spool") }

    func connect() -> LoopbackSocket {
        guard let socket = LoopbackSocket.connected(to: endpoint.port) else {
            fatalError("no connection to the endpoint")
        }
        socket.limitReceiving(seconds: 20)
        return socket
    }

    /// Sends bytes on a connection of its own and returns all answers until the endpoint closes it.
    func exchange(_ bytes: [UInt8], endsSending: Bool = true) async throws -> [RawAnswer] {
        try await onThread { [self] in
            let socket = connect()
            socket.send(bytes)
            // An endpoint that waits for more learns that nothing will come.
            if endsSending { socket.endSending() }
            return RawAnswer.all(socket.receiveAll())
        }
    }

    func post(_ body: [UInt8], headers: [String] = []) async throws -> RawAnswer {
        let answers = try await exchange(
            Self.request(body, headers: headers + ["Connection: close"]),
            endsSending: false
        )
        return try #require(answers.first)
    }

    func post(_ body: String, headers: [String] = []) async throws -> RawAnswer {
        try await post(Array(body.utf8), headers: headers)
    }

    static func request(_ body: [UInt8], headers: [String] = []) -> [UInt8] {
        let fields = headers.map { "\($0)\r\n" }.joined()
        let head = "POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\(fields)"
        return Array("\(head)Content-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    /// Ends the endpoint and reads its spool.
    func spooled() throws -> [[String: Any]] {
        endpoint.stop()
        return try lines().map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    func lines() throws -> [String] { try SpooledLines.all(in: spoolPath) }

    /// The value of a line of the metrics.
    func metric(_ series: String) -> Double? {
        for line in registry.text().split(separator: "\n") where line.hasPrefix(series + " ") {
            return Double(line.dropFirst(series.utf8.count + 1))
        }
        return nil
    }
}

enum Inputs {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Inputs").path()

    static func bytes(_ name: String) throws -> [UInt8] {
        try FileSystem.contents(of: "\(folder)/\(name)", limit: 1 << 20)
    }

    static func contract() throws -> Contract { try Contract(file: "\(folder)/contract.json5") }
}

extension Contract {
    /// A contract from JSON5 text.
    convenience init(_ text: String) throws { try self.init(parsing: Array(text.utf8), file: "contract.json5") }
}

/// A batch of events that the cases' contract takes.
enum Batch {
    static func event(_ id: String, _ changes: [String: String?] = [:]) -> String {
        var fields: [(String, String)] = [
            ("event", #""screen_view""#), ("event_id", "\"\(id)\""), ("occurred_at", "1796000000"),
            ("anonymous_id", #""anon-1""#), ("session_id", #""sess-1""#), ("app_version", #""1.2.3""#),
            ("build_number", #""45""#), ("platform", #""ios""#), ("schema_version", "1"),
            ("properties", #"{"screen":"home"}"#),
        ]
        for (name, json) in changes {
            fields.removeAll { $0.0 == name }
            if let json { fields.append((name, json)) }
        }
        return "{\(fields.map { "\"\($0)\":\($1)" }.joined(separator: ","))}"
    }

    static func body(_ events: String...) -> String { "{\"events\":[\(events.joined(separator: ","))]}" }

    static func of(_ count: Int, prefix: String = "e", _ changes: [String: String?] = [:]) -> String {
        "{\"events\":[\((0..<count).map { event("\(prefix)\($0)", changes) }.joined(separator: ","))]}"
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// A running `sluice-endpoint serve` with a spool that outlives it.
final class EndpointProcess {
    static let contract = """
        {
          contract_version: "t-1", schema_versions: { min: 1, max: 2 }, on_unknown: "quarantine",
          events: {
            screen_view: { properties: { screen: { type: "string" }, number: { type: "number" } } },
            purchase_completed: { source: "server", properties: { amount_cents: { type: "number" } } },
          },
        }
        """
    static let unlimited = [
        "SLUICE_RATE_LIMIT_USER": "0", "SLUICE_RATE_LIMIT_ANONYMOUS": "0", "SLUICE_RATE_LIMIT_ADDRESS": "0",
        "SLUICE_SPOOL_MIN_FREE_BYTES": "4096",
    ]

    let process: RunningProcess
    let address: String
    let port: UInt16
    let spool: String

    /// Starts the endpoint, under another program if there is a prefix.
    init(
        spool: String,
        contract: String,
        settings: [String: String] = [:],
        prefix: [String] = [],
        admin: String = "off"
    ) throws {
        let words = [
            "serve", "--spool", spool, "--contract", contract, "--listen", "127.0.0.1:0", "--admin", admin,
        ]
        let runner = ProcessRunner(environment: Self.unlimited.merging(settings) { $1 })
        if let tool = prefix.first.flatMap({ Tool.path(of: $0) }) {
            process = try runner.start(tool, prefix.dropFirst() + [ProcessRunner.path(of: "sluice-endpoint")] + words)
        } else {
            process = try runner.start("sluice-endpoint", words)
        }
        let line = process.line(startingWith: "listening on ", seconds: 60)
        address = try #require(line, "\(process.errors)")
        port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        self.spool = spool
    }

    func client() throws -> EndpointClient { try #require(EndpointClient(port: port)) }

    static func event(_ id: String, _ more: String = "") -> String {
        """
        {"event":"screen_view","event_id":"\(id)","occurred_at":\(SystemClock.system.wallSeconds),"anonymous_id":"anon-1",\
        "session_id":"s-1","app_version":"1.2.3","build_number":"45","platform":"ios","schema_version":1,\
        "properties":{"screen":"home"\(more)}}
        """
    }

    static func batch(_ ids: [String]) -> String {
        "{\"events\":[\(ids.map { event($0) }.joined(separator: ","))]}"
    }
}

/// A client on one keep-alive connection.
final class EndpointClient: Sendable {
    let socket: LoopbackSocket

    /// * `source`: the last number of the address 127.0.0.x that it comes from; nil leaves it to the system.
    init?(port: UInt16, from source: UInt8? = nil) {
        guard let socket = LoopbackSocket.connected(to: port, from: source) else { return nil }
        socket.limitReceiving(seconds: 30)
        self.socket = socket
    }

    /// Posts a body; nil when the connection broke before the whole answer came.
    func post(_ body: String, headers: [String] = []) -> RawAnswer? {
        let fields = headers.map { "\($0)\r\n" }.joined()
        let head = "POST /api/mobile-events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\(fields)"
        guard socket.send(Array("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)) else { return nil }
        return answer()
    }

    private func answer() -> RawAnswer? {
        var bytes: [UInt8] = []
        while true {
            let piece = socket.receive()
            if piece.isEmpty { return nil }
            bytes += piece
            guard let answer = RawAnswer.all(bytes).last,
                let length = answer.header("Content-Length").flatMap({ Int($0) })
            else { continue }
            if answer.body.utf8.count >= length { return answer }
        }
    }
}

/// Ids that clients on several threads were told are accepted.
final class Acknowledged: Sendable {
    private let known = Lock<Set<String>>([])

    var ids: Set<String> { known.withLock { $0 } }
    var count: Int { known.withLock { $0.count } }

    func add(_ ids: [String]) { known.withLock { $0.formUnion(ids) } }
}

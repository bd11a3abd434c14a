// SPDX-License-Identifier: Apache-2.0
import SluiceCommands

/// What the command line asks of the stub.
struct StubOptions: Sendable {
    struct Failures: Sendable {
        var status: Int
        var count: Int
    }

    var listen = ListenAddress(host: "127.0.0.1", port: 0)
    var storePath: String?
    var recordPath: String?
    var key: String?
    var latencyMilliseconds = 0
    /// Share of the requests whose answer takes so much longer.
    var slowRate = 0.0
    var slowMilliseconds = 10_000
    var poisonIDs: [String] = []
    var poisonStatus = 400
    var failures: [Failures] = []
    var failureRate = 0.0
    var retryAfterSeconds: Int?
    var maximumBodyBytes = 64 << 20
    var resetRate = 0.0
    var unauthorizedUntilPath: String?
    var rejectsAll = false
    var threads = 2

    init(_ words: Arguments) throws(UsageError) {
        var arguments = words
        if let text = try arguments.option("--listen") {
            guard let address = ListenAddress(parsing: text) else {
                throw UsageError("--listen takes ADDRESS:PORT such as 127.0.0.1:0, not \(text)")
            }
            listen = address
        }
        storePath = try arguments.option("--store")
        recordPath = try arguments.option("--record")
        key = try arguments.option("--key")
        latencyMilliseconds = try arguments.integer("--latency-ms", in: 0...3_600_000) ?? 0
        slowRate = try arguments.number("--slow-rate", in: 0...1) ?? 0
        slowMilliseconds = try arguments.integer("--slow-ms", in: 0...3_600_000) ?? slowMilliseconds
        poisonIDs = try arguments.options("--poison")
        poisonStatus = try arguments.integer("--poison-status", in: 300...599) ?? poisonStatus
        for text in try arguments.options("--fail") { failures.append(try Self.failures(text)) }
        failureRate = try arguments.number("--fail-rate", in: 0...1) ?? 0
        retryAfterSeconds = try arguments.integer("--retry-after", in: 0...86400)
        maximumBodyBytes = try arguments.integer("--max-body", in: 1...(1 << 30)) ?? maximumBodyBytes
        resetRate = try arguments.number("--reset-rate", in: 0...1) ?? 0
        unauthorizedUntilPath = try arguments.option("--unauthorized-until")
        rejectsAll = try arguments.flag("--reject-all")
        threads = try arguments.integer("--threads", in: 1...64) ?? threads
        _ = try arguments.remaining()
    }

    private static func failures(_ text: String) throws(UsageError) -> Failures {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let status = parts[0], let count = parts[1], (300...599).contains(status), count >= 0
        else {
            throw UsageError("--fail takes STATUS:COUNT such as 503:3, not \(text)")
        }
        return Failures(status: status, count: count)
    }

    static let help = """
        Usage: graphjson-stub [OPTION…]

        A stand-in for GraphJSON's logging API that is strict about what is publicly known of it: POST /api/log takes
        one event, POST /api/bulk-log 1 to 50 with one timestamp or one for each. GET /stats tells what came.

        \(HelpText.table(table))

        It ends on SIGTERM and SIGINT.

        Exit codes: 0 ended by a signal; 64 wrong command line; 74 it cannot listen or write.

        Examples:
          graphjson-stub --listen 127.0.0.1:9000 --store arrived.ndjson
          graphjson-stub --listen 127.0.0.1:9000 --fail 503:3 --retry-after 2
        """

    private static let table = [
        ("--listen ADDRESS:PORT", "where to listen, default 127.0.0.1:0; port 0 picks one, the first line tells which"),
        ("--store FILE", "append a line for each accepted event: collection, timestamp, json, request number"),
        ("--record FILE", "note in the record of sluice-bench soak what arrives, and do wrong what stands there"),
        ("--key KEY", "the only key that is accepted; default any"),
        ("--latency-ms N", "answer N milliseconds after the request"),
        ("--slow-rate P", "answer this share of the requests, 0 to 1, later still"),
        ("--slow-ms N", "by so many milliseconds, default 10000"),
        ("--poison EVENT_ID", "refuse every request that holds this event; may stand several times"),
        ("--poison-status STATUS", "with this status, default 400"),
        ("--fail STATUS:COUNT", "answer the first COUNT requests with STATUS; several follow each other"),
        ("--fail-rate P", "answer this share of the requests, 0 to 1, with 503"),
        ("--retry-after SECONDS", "put Retry-After into the answers of --fail and --fail-rate"),
        ("--max-body BYTES", "answer 413 to larger bodies, default 64 MiB"),
        ("--reset-rate P", "take this share of the requests, then reset the connection"),
        ("--unauthorized-until PATH", "answer 401 until the file exists"),
        ("--reject-all", "answer 400 to every request"),
        ("--threads N", "threads that serve, default 2"),
    ]
}

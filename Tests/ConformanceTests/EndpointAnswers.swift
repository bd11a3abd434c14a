// SPDX-License-Identifier: Apache-2.0
import SluiceEndpoint
import SluiceEvents
import SluiceServer
import SluiceSpool
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

/// A real endpoint in this process that judges by the vectors' contract.
final class EndpointAnswers: Sendable {
    private let endpoint: Endpoint
    private let health = Health()
    private let folder = TemporaryFolder()

    /// Makes one that knows a key for tokens, and may limit the events from an address.
    init(addressLimit: RateLimit = .off) throws {
        var start = EndpointStart(server: ServerConfiguration(host: "127.0.0.1", port: 0))
        start.shutdownGrace = .seconds(5)
        var settings = EndpointPolicy.Settings()
        settings.rateLimits = .off
        settings.rateLimits.address = addressLimit
        let contract = try Contract(file: "\(Vectors.folder)/contract.json")
        let secret = Array("a secret of more than thirty-two bytes".utf8)
        let tokens = TokenVerifier(TokenRules(algorithm: .hs256), keys: [secret])
        endpoint = try Endpoint(
            start,
            policy: EndpointPolicy(settings, contract: contract, tokens: tokens),
            spool: SpoolFolder.open(folder.path("spool"), role: .writer),
            registry: MetricsRegistry(),
            health: health,
            logger: LogRecorder().logger(),
            clock: .system
        )
    }

    deinit { endpoint.stop() }

    /// What the endpoint says to a request.
    func answer(
        to body: String,
        method: String = "POST",
        path: String = "/api/mobile-events",
        headers: [String] = ["Content-Type: application/json"]
    ) throws -> RawAnswer {
        let socket = try #require(LoopbackSocket.connected(to: endpoint.port))
        socket.limitReceiving(seconds: 20)
        let fields = (headers + ["Connection: close", "Content-Length: \(body.utf8.count)"]).map { "\($0)\r\n" }
        socket.send(Array("\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(fields.joined())\r\n\(body)".utf8))
        return try #require(RawAnswer.all(socket.receiveAll()).last)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceServer
import SluiceSystem
import SluiceTestSupport

/// A server for a test, with the handler that most tests want and a client of raw bytes.
final class ServerProbe: Sendable {
    static let limit = 1 << 20

    let server: HTTPServer
    /// Tickets of `/later` that nobody has answered yet.
    let waiting = WaitingTickets()

    init(_ change: (inout ServerConfiguration) -> Void = { _ in }) throws {
        var configuration = ServerConfiguration(host: "127.0.0.1", port: 0)
        change(&configuration)
        let waiting = self.waiting
        let handler = ServerHandler(
            head: { request in
                if request.isPath("/refuse") { return .refuse(ServerAnswer(status: 403, body: "no")) }
                return .receive(maximumBytes: Self.limit)
            },
            complete: { request in
                if request.isPath("/later") {
                    waiting.add(request.ticket)
                    return .later
                }
                if request.isPath("/empty") { return .answer(ServerAnswer(status: 204)) }
                return .answer(Self.echo(request))
            }
        )
        server = try HTTPServer(configuration, handler: handler)
    }

    deinit { server.stop(grace: .zero) }

    private static func echo(_ request: ServerRequest) -> ServerAnswer {
        let path = String(decoding: request.path, as: UTF8.self)
        let method = String(decoding: request.method, as: UTF8.self)
        let field = request.header("X-Test").map { String(decoding: $0, as: UTF8.self) } ?? ""
        let body = String(decoding: request.bytes, as: UTF8.self)
        return ServerAnswer(status: 200, body: "\(method) \(path) \(request.queryValue("q") ?? "") \(field) \(body)")
    }

    func connect() -> LoopbackSocket {
        guard let socket = LoopbackSocket.connected(to: server.port) else {
            fatalError("no connection to the test server")
        }
        socket.limitReceiving(seconds: 20)
        return socket
    }

    /// Sends `text` on a connection of its own and returns everything until the server closes it.
    func exchange(_ text: String, endsSending: Bool = false) async throws -> String {
        try await onThread { [self] in
            let socket = connect()
            socket.send(Array(text.utf8))
            if endsSending { socket.endSending() }
            return String(decoding: socket.receiveAll(), as: UTF8.self)
        }
    }

    static func post(_ path: String, _ body: String, headers: String = "", version: String = "1.1") -> String {
        "POST \(path) HTTP/\(version)\r\nHost: a\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}

final class WaitingTickets: Sendable {
    private let tickets = Lock<[ServerTicket]>([])
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation

    init() { (arrivals, arrived) = AsyncStream.makeStream(of: Void.self) }

    func add(_ ticket: ServerTicket) {
        tickets.withLock { $0.append(ticket) }
        arrived.yield()
    }

    /// Waits for so many tickets and hands them over.
    func take(_ count: Int) async -> [ServerTicket] {
        var taken: [ServerTicket] = []
        for await _ in arrivals {
            taken.append(tickets.withLock { $0.removeFirst() })
            if taken.count == count { break }
        }
        return taken
    }
}

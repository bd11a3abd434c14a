// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceServer
package import SluiceSystem
package import SluiceTelemetry

/// Serves `/metrics`, `/healthz` and `/readyz` to machines, and whatever pages a program adds.
///
/// It is for loopback or a private network, answers GET and HEAD only, and only requests whose Host is a numeric
/// address, a name without a dot, or one that was listed: a web page that a browser behind the same network was led to
/// can make it send requests here, but not with such a Host.
package final class AdminListener: Sendable {
    /// What a path answers.
    package struct Page: Sendable {
        package var status: Int
        package var contentType: String
        package var bytes: [UInt8]
        /// Beside `Cache-Control: no-store` and `X-Content-Type-Options: nosniff`, which each has.
        package var headers: [(name: String, value: String)]

        package init(
            status: Int = 200,
            contentType: String,
            bytes: [UInt8],
            headers: [(name: String, value: String)] = []
        ) {
            self.status = status
            self.contentType = contentType
            self.bytes = bytes
            self.headers = headers
        }

        package static func text(_ text: String, status: Int = 200) -> Page {
            Page(status: status, contentType: "text/plain; charset=utf-8", bytes: Array(text.utf8))
        }
    }

    private let server: HTTPServer

    /// Where it listens, with the port that it got.
    package var address: String { server.address }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - address: where; port 0 takes a free one.
    ///   - hosts: names with a dot that requests may call this machine by.
    ///   - registry: what `/metrics` shows.
    ///   - health: what `/healthz` and `/readyz` tell: 200, or 503 with a problem on each line.
    ///   - pages: further paths; called on the listener's thread.
    /// - Throws: when the address cannot be listened on.
    package init(
        _ address: ListenAddress,
        hosts: [String] = [],
        registry: MetricsRegistry,
        health: Health,
        pages: [String: @Sendable () -> Page] = [:]
    ) throws(SystemError) {
        var all = pages
        all["/metrics"] = {
            var bytes: [UInt8] = []
            registry.emit(into: &bytes)
            return Page(contentType: MetricsRegistry.contentType, bytes: bytes)
        }
        all["/healthz"] = { Self.page(health.livenessProblems) }
        all["/readyz"] = { Self.page(health.readinessProblems) }
        var configuration = ServerConfiguration(host: address.host, port: address.port)
        configuration.threads = 1
        configuration.maximumConnections = 64
        configuration.bodyTimeout = .seconds(5)
        let allowed = hosts.map { Array($0.lowercased().utf8) }
        let routes = all
        server = try HTTPServer(
            configuration,
            handler: ServerHandler(
                head: { request in
                    if let refusal = Self.refusal(request, allowed) { return .refuse(refusal) }
                    return .receive(maximumBytes: 0)
                },
                complete: { request in
                    let path = String(decoding: request.path, as: UTF8.self)
                    let page = routes[path]?() ?? .text("there is nothing at this path\n", status: 404)
                    return .answer(Self.answer(page))
                }
            )
        )
    }

    /// Stops listening.
    package func stop() { server.stop(grace: .seconds(1)) }

    private static func page(_ problems: [String]) -> Page {
        problems.isEmpty ? .text("ok\n") : .text(problems.map { "\($0)\n" }.joined(), status: 503)
    }

    private static func answer(_ page: Page) -> ServerAnswer {
        ServerAnswer(
            status: page.status,
            contentType: page.contentType,
            bytes: page.bytes,
            headers: page.headers + [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        )
    }

    private static func refusal(_ request: ServerRequest, _ hosts: [[UInt8]]) -> ServerAnswer? {
        guard request.isMethod("GET") || request.isMethod("HEAD") else {
            var page = Page.text("only GET and HEAD\n", status: 405)
            page.headers = [("Allow", "GET, HEAD")]
            return answer(page)
        }
        guard let host = request.header("Host"), isAllowed(host, hosts) else {
            let text = "the Host of this request is not served here; see relay.admin_hosts and endpoint.admin_hosts\n"
            return answer(.text(text, status: 421))
        }
        return nil
    }

    /// Whether a Host field names this machine in a way that no foreign web page can.
    static func isAllowed(_ field: UnsafeRawBufferPointer, _ hosts: [[UInt8]]) -> Bool {
        var name = String(decoding: field, as: UTF8.self).lowercased()
        if name.hasPrefix("["), let end = name.firstIndex(of: "]") {
            return NumericAddress.isVersion6(String(name[name.index(after: name.startIndex)..<end]))
        }
        if let colon = name.lastIndex(of: ":") { name = String(name[..<colon]) }
        if name.hasSuffix(".") { name.removeLast() }
        if NumericAddress.isVersion4(name) || (!name.isEmpty && !name.contains(".")) { return true }
        return hosts.contains { $0.elementsEqual(name.utf8) }
    }
}

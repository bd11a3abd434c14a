// SPDX-License-Identifier: Apache-2.0
import SluiceHTTP
import SluiceTestSupport
import Testing

/// Against a TLS server with a certificate of its own making.
///
/// Case C65.
@Suite(.timeLimit(.minutes(1)), .enabled(if: Tool.isInstalled("openssl"), "the openssl command is not installed"))
struct TLSTests {
    /// `openssl s_server` that answers every GET with a page.
    final class Server {
        let folder = TemporaryFolder()
        let port: UInt16
        private let process: RunningProcess

        /// Makes a certificate for `name` and serves with it; one of ten days ago is expired.
        init(name: String, isExpired: Bool = false) throws {
            let tool = isExpired ? ["faketime", "-f", "-10d"] : ["env"]
            let made = try ProcessRunner().run(
                try #require(Tool.path(of: tool[0])),
                tool.dropFirst() + [
                    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=\(name)",
                    "-keyout", folder.path("key.pem"), "-out", folder.path("certificate.pem"),
                ]
            )
            try #require(made.code == 0, "\(made.errors)")
            let path = try #require(Tool.path(of: "openssl"))
            process = try ProcessRunner().start(
                path,
                [
                    "s_server", "-www", "-accept", "127.0.0.1:0", "-key", folder.path("key.pem"),
                    "-cert", folder.path("certificate.pem"),
                ]
            )
            let address = try #require(process.line(startingWith: "ACCEPT 127.0.0.1:"))
            port = try #require(UInt16(address))
        }

        var certificate: String { folder.path("certificate.pem") }
    }

    @Test func `a certificate of a trusted root with the right name is accepted`() async throws {
        let server = try Server(name: "IP:127.0.0.1")
        let probe = HTTPProbe { $0.certificateFile = server.certificate }
        #expect(try await probe.result(of: .get("https://127.0.0.1:\(server.port)/")).answer().status == 200)
    }

    @Test(.enabled(if: Tool.isInstalled("faketime"), "the faketime command is not installed"))
    func `a certificate that has expired is not to be trusted, whatever its root`() async throws {
        let server = try Server(name: "IP:127.0.0.1", isExpired: true)
        let probe = HTTPProbe { $0.certificateFile = server.certificate }
        let failure = try await probe.result(of: .get("https://127.0.0.1:\(server.port)/secret")).failure()
        #expect(failure.kind == .tlsVerification)
        #expect(failure.message.contains("expired") && !failure.message.contains("secret"))
    }

    @Test func `a certificate of nobody known is not to be trusted`() async throws {
        let server = try Server(name: "IP:127.0.0.1")
        let failure = try await HTTPProbe().result(of: .get("https://127.0.0.1:\(server.port)/secret")).failure()
        #expect(failure.kind == .tlsVerification)
        #expect(!failure.wasSent)
        #expect(!failure.message.contains("secret"))
    }

    @Test func `a certificate of another name is not to be trusted`() async throws {
        let server = try Server(name: "DNS:example.com")
        let probe = HTTPProbe { $0.certificateFile = server.certificate }
        let failure = try await probe.result(of: .get("https://127.0.0.1:\(server.port)/")).failure()
        #expect(failure.kind == .tlsVerification)
    }

    @Test func `without roots nothing is trusted`() async throws {
        let server = try Server(name: "IP:127.0.0.1")
        let probe = HTTPProbe { $0.certificateFile = server.folder.path("missing.pem") }
        let failure = try await probe.result(of: .get("https://127.0.0.1:\(server.port)/")).failure()
        #expect(failure.kind == .tlsVerification)
    }

    @Test func `a server that speaks no TLS is a failed handshake`() async throws {
        let server = ScriptedServer { _ in .resetInRequest(after: 1) }
        defer { server.stop() }
        let failure = try await HTTPProbe().result(of: .get("https://127.0.0.1:\(server.port)/")).failure()
        #expect(failure.kind == .tlsHandshake)
        #expect(!failure.wasSent)
    }

    @Test(.enabled(if: Tool.isInstalled("nghttpd"), "the nghttpd command is not installed"))
    func `HTTP 2 is spoken where it is offered, many requests on one connection`() async throws {
        let certificate = try Server(name: "IP:127.0.0.1")
        let free = LoopbackSocket.bound(backlog: nil)
        let port = free.port
        let path = try #require(Tool.path(of: "nghttpd"))
        free.close()
        // It speaks nothing but HTTP/2.
        let process = try ProcessRunner().start(
            path,
            [
                "-a", "127.0.0.1", "--echo-upload", "\(port)", certificate.folder.path("key.pem"),
                certificate.certificate,
            ]
        )
        process.wait(seconds: 20) { LoopbackSocket.connected(to: port) != nil }
        let probe = HTTPProbe { $0.certificateFile = certificate.certificate }
        let url = "https://127.0.0.1:\(port)/"
        for tag in 0..<200 {
            probe.client.send(.post(url, headers: .json, body: RequestBody("body \(tag)")), tag: tag)
        }
        for completion in await probe.completions(200) {
            let answer = try completion.result.answer()
            #expect(answer.status == 200)
            #expect(String(decoding: answer.body, as: UTF8.self) == "body \(completion.tag)")
        }
        withExtendedLifetime(process) {}
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceJSON
import SluiceServer
import SluiceSystem
import Synchronization

/// The server: checks each request, does what the options ask for, and counts.
final class Stub: Sendable {
    private let server: HTTPServer
    private let delays: DelayedOutcomes?

    var address: String { server.address }

    init(_ options: StubOptions) throws(SystemError) {
        let store: StubStore? = if let path = options.storePath { try StubStore(path: path) } else { nil }
        let recorder: Recorder? = if let path = options.recordPath { try Recorder(path: path) } else { nil }
        let isDelayed = options.latencyMilliseconds > 0 || options.slowRate > 0 || recorder != nil
        let delays = isDelayed ? DelayedOutcomes() : nil
        let luck = Luck()
        let intake = Intake(options, store: store, recorder: recorder)
        var configuration = ServerConfiguration(host: options.listen.host, port: options.listen.port)
        configuration.threads = options.threads
        configuration.connectionBytes = 32 * 1024
        configuration.answerTimeout = .seconds(4000)
        let handler = ServerHandler(
            head: { request in
                if request.isPath("/stats") {
                    return request.isMethod("GET") ? .receive(maximumBytes: 0) : .refuse(.wrongMethod("GET"))
                }
                guard request.isPath("/api/bulk-log") || request.isPath("/api/log") else {
                    return .refuse(.unknownPath)
                }
                guard request.isMethod("POST") else { return .refuse(.wrongMethod("POST")) }
                return .receive(maximumBytes: options.maximumBodyBytes)
            },
            complete: { request in
                if request.isPath("/stats") { return .answer(intake.statistics.answer) }
                let outcome = intake.take(request.bytes, isBulk: request.isPath("/api/bulk-log"))
                let slowness = luck.hits(options.slowRate) ? options.slowMilliseconds : 0
                let delay = options.latencyMilliseconds + slowness + (recorder?.delayMilliseconds ?? 0)
                guard let delays, delay > 0 else { return outcome }
                delays.add(outcome, request.ticket, milliseconds: delay)
                return .later
            },
            refusal: { refusal in
                if refusal == .bodyTooLarge { intake.statistics.countRefused() }
                return refusal.plainAnswer
            }
        )
        self.delays = delays
        server = try HTTPServer(configuration, handler: handler)
    }

    /// Ends the server; what was taken is in the store.
    func stop() {
        server.stop(grace: .seconds(1))
        delays?.stop()
    }
}

extension ServerAnswer {
    static let accepted = ServerAnswer(status: 200, contentType: "application/json", body: "{\"status\":\"ok\"}")

    static let unknownPath = refused(404, "no such path")

    static func wrongMethod(_ allowed: String) -> ServerAnswer {
        refused(405, "no such method here", headers: [("Allow", allowed)])
    }

    static func refused(
        _ status: Int,
        _ reason: String,
        headers: [(name: String, value: String)] = []
    ) -> ServerAnswer {
        var body = ByteBuffer()
        body.append("{\"error\":")
        body.append(jsonString: reason)
        body.append("}")
        return ServerAnswer(status: status, contentType: "application/json", bytes: body.bytes, headers: headers)
    }
}

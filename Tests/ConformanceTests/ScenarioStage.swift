// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem

/// What a scenario's client sees of the world: the clock, chance, and an endpoint that answers by the script.
final class ScenarioStage: Sendable {
    /// An event that was tracked, under the name that the scenario gives it.
    struct Tracked: Sendable {
        var id: String
        var envelope: [UInt8]
    }

    struct State {
        var now: Int64 = 1_796_000_000_000
        var serverNow: Int64 = 1_796_000_000_000
        var chance: UInt64 = 0
        /// Requests that are still to come.
        var exchanges: [VectorValue] = []
        var tracked: [String: Tracked] = [:]
        var problems: [String] = []
    }

    enum Fault: Error { case noAnswer }

    let state = Lock(State())
    /// Does what happens while a request is under way: `cancel`, `withdraw`, `kill`.
    let interruption = Lock<(@Sendable (String) async throws -> Void)?>(nil)

    var environment: ClientEnvironment {
        ClientEnvironment(
            now: { self.state.withLock { $0.now } },
            random: { self.draw() },
            send: { try await self.answer(to: $0) }
        )
    }

    func complain(_ problem: String) { state.withLock { $0.problems.append(problem) } }

    /// The next number of a sequence that looks random and repeats nothing.
    private func draw() -> UInt64 {
        state.withLock { state in
            state.chance &+= 0x9E37_79B9_7F4A_7C15
            var bits = state.chance
            bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
            bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
            return bits ^ bits >> 31
        }
    }

    // MARK: - Requests

    private func answer(to request: EndpointRequest) async throws -> EndpointAnswer {
        guard let exchange = state.withLock({ $0.exchanges.isEmpty ? nil : $0.exchanges.removeFirst() }) else {
            complain("a request too many: \(String(decoding: request.body, as: UTF8.self))")
            throw Fault.noAnswer
        }
        do {
            try check(request, against: exchange)
            let script = try exchange.require("answer")
            if let fault = script["fault"]?.text {
                try await interruption.withLock { $0 }?(fault)
                throw Fault.noAnswer
            }
            return try answer(script, to: exchange.require("events").texts)
        } catch let error where !(error is Fault) && !(error is CancellationError) {
            complain("\(error)")
            throw error
        }
    }

    private func check(_ request: EndpointRequest, against exchange: VectorValue) throws {
        let body = try VectorValue(request.body)
        let aliases = try exchange.require("events").texts
        let sent = try body.require("events").elements.compactMap { $0["event_id"]?.text }
        let (events, names) = state.withLock { state in
            (
                aliases.map { state.tracked[$0]?.envelope ?? [] },
                sent.map { id in state.tracked.first { $0.value.id == id }?.key ?? id }
            )
        }
        if names != aliases { complain("sent \(names) instead of \(aliases)") }
        var drops: [String: Int] = [:]
        for (reason, count) in exchange["drops"]?.members ?? [] { drops[reason] = count.integer }
        let sentAt = try body.integer("client_sent_at")
        let expected = BatchBody.encode(events: events, drops: drops, clientSentAt: sentAt)
        if request.body != expected {
            complain(
                "sent \(String(decoding: request.body, as: UTF8.self)) instead of \(String(decoding: expected, as: UTF8.self))"
            )
        }
        if let time = exchange["sent_at"]?.integer, time != sentAt { complain("sent at \(sentAt) instead of \(time)") }
        if exchange.members.contains(where: { $0.name == "token" }) {
            let token = exchange["token"]?.text.map { "Bearer \($0)" }
            let found = request.headers["Authorization"]
            if found != token { complain("token \(found ?? "none") instead of \(token ?? "none") with \(aliases)") }
        }
        if request.headers["Content-Type"] != "application/json" { complain("the request is not labelled") }
    }

    // MARK: - Answers

    private func answer(_ script: VectorValue, to aliases: [String]) throws -> EndpointAnswer {
        if script["accept"] != nil { return verdicts(script, aliases) }
        let fields = script["headers"]
        var answer = try EndpointAnswer(
            status: script.integer("status"),
            contentType: fields?["Content-Type"]?.text,
            retryAfter: fields?["Retry-After"]?.text,
            date: date,
            body: Array((script["body"]?.text ?? "").utf8)
        )
        if let code = script["code"]?.text {
            answer.contentType = "application/json"
            answer.body = Array("{\"request_id\":\"r\",\"code\":\"\(code)\",\"detail\":\"\"}".utf8)
        }
        return answer
    }

    private func verdicts(_ script: VectorValue, _ aliases: [String]) -> EndpointAnswer {
        let tracked = state.withLock { $0.tracked }
        let accepted = script["accept"]?.text == "all" ? aliases : script["accept"]?.texts ?? []
        let ids = accepted.map { "\"\(tracked[$0]?.id ?? "")\"" }
        let rejected = (script["reject"]?.textsByName ?? []).map { alias, code in
            let index = aliases.firstIndex(of: alias) ?? -1
            let id = tracked[alias]?.id ?? ""
            return "{\"index\":\(index),\"event_id\":\"\(id)\",\"code\":\"\(code)\",\"detail\":\"\"}"
        }
        let lists = "\"accepted\":[\(ids.joined(separator: ","))],\"rejected\":[\(rejected.joined(separator: ","))]"
        return EndpointAnswer(
            status: 200,
            contentType: "application/json",
            date: date,
            body: Array("{\"request_id\":\"r\",\(lists),\"removed\":[]}".utf8)
        )
    }

    private var date: String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSince1970: Double(state.withLock { $0.serverNow } / 1000)))
    }
}

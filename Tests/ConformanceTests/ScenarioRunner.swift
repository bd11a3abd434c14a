// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport

/// Drives the Swift client by a scenario's steps and collects what is not as the scenario says.
final class ScenarioRunner {
    private let stage = ScenarioStage()
    private let root = TemporaryFolder()
    private var folders = 0
    private var client: SluiceClient?
    private var isClockSet = false
    /// What the scenario's names of ids stand for.
    private var names: [String: String] = [:]

    private var folder: String { root.path("queue\(folders)") }

    /// Runs all steps.
    ///
    /// - Returns: a line for each difference.
    func run(_ steps: [VectorValue]) async throws -> [String] {
        for (number, step) in steps.enumerated() {
            let before = stage.state.withLock { $0.problems.count }
            try await run(step)
            let problems = stage.state.withLock { $0.problems }
            if problems.count > before {
                return problems.map { "step \(number + 1), \((try? step.text("do")) ?? ""): \($0)" }
            }
        }
        return []
    }

    private func run(_ step: VectorValue) async throws {
        switch try step.text("do") {
        case "open": try open(step)
        case "close": client = nil
        case "kill": try kill()
        case "advance":
            let milliseconds = try Int64(step.integer("seconds")) * 1000
            stage.state.withLock { state in
                state.now += milliseconds
                state.serverNow += milliseconds
            }
        case "set_clock":
            let time = try Int64(step.integer("at")) * 1000
            stage.state.withLock { $0.now = time }
        case "consent":
            let granted = try step.require("granted").texts.map { SluicePurpose(rawValue: $0) }
            try await client?.setConsent(Set(granted))
        case "track": try await track(step)
        case "sign_in": try await signIn(step)
        case "sign_out": await client?.signOut()
        case "flush": try await flush(step)
        case "expect": try expect(step)
        case let unknown: stage.complain("a step that is not known: \(unknown)")
        }
    }

    // MARK: - Opening

    private func open(_ options: VectorValue) throws {
        if !isClockSet {
            isClockSet = true
            let now = Int64(options["clock"]?.integer ?? 1_796_000_000) * 1000
            let serverNow = options["server_clock"]?.integer.map { Int64($0) * 1000 } ?? now
            stage.state.withLock { state in
                state.now = now
                state.serverNow = serverNow
            }
        }
        guard let endpoint = URL(string: "https://app.example.com/api/mobile-events") else { return }
        var configuration = SluiceConfiguration(
            endpoint: endpoint,
            folder: URL(filePath: folder),
            appVersion: options["app_version"]?.text ?? "4.8.0",
            buildNumber: options["build_number"]?.text ?? "842",
            platform: options["platform"]?.text ?? "ios"
        )
        configuration.schemaVersion = options["schema_version"]?.integer ?? 1
        configuration.delivery = .manual
        if let count = options["maximum_events"]?.integer { configuration.limits.queuedEvents = count }
        if let policy = options["on_sign_out"]?.text { configuration.identity.onSignOut = transition(policy) }
        if let policy = options["on_withdrawal"]?.text { configuration.identity.onWithdrawal = transition(policy) }
        if let tokens = options["tokens"]?.textsByName {
            configuration.userToken = { user in tokens.first { $0.name == user }?.text }
        }
        if let lifetimes = options["lifetimes"]?.members {
            let rules = lifetimes.map { name, seconds in
                "\(name): {durability: 'low', expires_after_s: \(seconds.integer ?? 0)}"
            }
            let contract = "{on_unknown: 'quarantine', events: {\(rules.joined(separator: ","))}}"
            configuration.contract = try SluiceContract(Data(contract.utf8))
        }
        client = try SluiceClient(configuration, environment: stage.environment)
    }

    private func transition(_ word: String) -> SluiceIdentityPolicy.Transition {
        switch word {
        case "retain": return .retain
        case "rotate": return .rotate
        case "clear": return .clear
        default:
            stage.complain("a policy that is not known: \(word)")
            return .retain
        }
    }

    /// Leaves the client where it is, and goes on with the files as they are at this moment: what SIGKILL leaves.
    private func kill() throws {
        try Self.copy(folder, to: root.path("queue\(folders + 1)"))
        folders += 1
        client = nil
    }

    private static func copy(_ folder: String, to other: String) throws {
        try FileManager.default.copyItem(atPath: folder, toPath: other)
    }

    // MARK: - Calls

    private func track(_ step: VectorValue) async throws {
        let result = try await client?.track(
            step.text("event"),
            SluiceValue.properties(of: step),
            purpose: SluicePurpose(rawValue: step["purpose"]?.text ?? "analytics"),
            lifetime: step["lifetime"]?.integer.map { .seconds($0) }
        )
        let alias = try step.text("as")
        switch result {
        case .persisted(let id):
            if let reason = step["result"]?.text { stage.complain("\(alias) was kept instead of dropped: \(reason)") }
            let envelope = try rows("SELECT event_id, envelope FROM queue").first { $0.id == id }?.bytes ?? []
            stage.state.withLock { $0.tracked[alias] = .init(id: id, envelope: envelope) }
        case .dropped(let reason, let detail):
            if reason.rawValue != step["result"]?.text { stage.complain("\(alias) was dropped: \(reason), \(detail)") }
        case .held, nil: stage.complain("\(alias) is not on disk")
        }
    }

    private func signIn(_ step: VectorValue) async throws {
        let mustBeRefused = step["result"]?.text == "refused"
        do {
            try await client?.signIn(user: step.text("user"))
            if mustBeRefused { stage.complain("the id was not refused") }
        } catch let error as SluiceError {
            if !mustBeRefused { stage.complain("\(error)") }
        }
    }

    private func flush(_ step: VectorValue) async throws {
        guard let client else { return }
        let exchanges = try step.require("exchanges").elements
        stage.state.withLock { $0.exchanges = exchanges }
        let (folder, copy) = (folder, root.path("queue\(folders + 1)"))
        let task = Lock<Task<FlushResult, Never>?>(nil)
        stage.interruption.withLock { interruption in
            interruption = { fault in
                switch fault {
                case "cancel":
                    task.withLock { $0 }?.cancel()
                    // The request goes on until the client gives it up.
                    try await Task.sleep(for: .seconds(60))
                case "withdraw":
                    try await client.setConsent([])
                    try await Task.sleep(for: .seconds(60))
                case "kill": try Self.copy(folder, to: copy)
                default: break
                }
            }
        }
        let flush = task.withLock { task in
            let flush = Task { await client.flush() }
            task = flush
            return flush
        }
        _ = await flush.value
        let missing = stage.state.withLock { $0.exchanges.count }
        if missing > 0 { stage.complain("\(missing) requests are missing") }
        if exchanges.contains(where: { $0["answer"]?["fault"]?.text == "kill" }) {
            folders += 1
            self.client = nil
        }
    }

    // MARK: - Expectations

    private func expect(_ step: VectorValue) throws {
        if let exists = step["file"]?.isTrue, exists != FileManager.default.fileExists(atPath: file(folder)) {
            stage.complain("the file exists: \(!exists)")
        }
        if let queue = step["queue"]?.texts {
            let found = try rows("SELECT event_id, envelope FROM queue ORDER BY seq").map { alias($0.id) }
            if found != queue { stage.complain("the queue holds \(found) instead of \(queue)") }
        }
        if let quarantine = step["quarantine"]?.textsByName {
            let found = try rows("SELECT event_id, reason FROM quarantine").map { "\(alias($0.id)): \($0.text)" }
            let expected = quarantine.map { "\($0.name): \($0.text)" }
            if found.sorted() != expected.sorted() { stage.complain("quarantine holds \(found)") }
        }
        if let drops = step["drops"]?.members {
            let found = try rows("SELECT reason, CAST(lost AS TEXT) FROM drops").map { "\($0.id): \($0.text)" }
            let expected = drops.map { "\($0.name): \($0.value.integer ?? 0)" }
            if found.sorted() != expected.sorted() { stage.complain("dropped are \(found) instead of \(expected)") }
        }
        for (alias, members) in step["envelopes"]?.members ?? [] {
            let envelope = stage.state.withLock { $0.tracked[alias]?.envelope ?? [] }
            compare(try VectorValue(envelope), with: members, of: alias)
        }
    }

    private func compare(_ envelope: VectorValue, with expected: VectorValue, of alias: String) {
        for (name, value) in expected.members {
            let found = envelope[name]
            if ["anonymous_id", "session_id"].contains(name), let word = value.text, let id = found?.text {
                let isKnown = names["\(name) \(word)"] != nil || !names.values.contains(id)
                if isKnown, names["\(name) \(word)", default: id] == id {
                    names["\(name) \(word)"] = id
                } else {
                    stage.complain("\(name) of \(alias) is not \(word): \(id), where \(names)")
                }
            } else if found ?? .null != value {
                stage.complain("\(name) of \(alias) is \(found ?? .null) instead of \(value)")
            }
        }
    }

    private func alias(_ id: String) -> String {
        stage.state.withLock { state in state.tracked.first { $0.value.id == id }?.key ?? id }
    }

    // MARK: - The file

    private func file(_ folder: String) -> String { "\(folder)/sluice-client.sqlite" }

    private func rows(_ query: String) throws -> [(id: String, bytes: [UInt8], text: String)] {
        guard FileManager.default.fileExists(atPath: file(folder)) else { return [] }
        var rows: [(id: String, bytes: [UInt8], text: String)] = []
        try Database(file(folder), creates: false).each(query) { row in
            rows.append((row.text(0), row.bytes(1), row.text(1)))
            return true
        }
        return rows
    }
}

// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient

/// What an app does with the client, step by step.
struct Tour {
    private let options: Options
    private let client: SluiceClient

    init(_ options: Options) throws {
        self.options = options
        client = try options.client()
    }

    func run() async throws {
        try await client.setConsent([.analytics])
        for number in 0..<options.events { await track(number) }
        await show("tracked")
        let result = await client.flush()
        print("flushed: \(result.accepted) accepted, \(result.rejected) rejected, \(result.requests) requests")
        print("  the delivery ended: \(result.end)")
        await show("afterwards")
    }

    private func track(_ number: Int) async {
        let result =
            switch number % 3 {
            case 0: await client.track("screen_viewed", ["name": "home"])
            case 1: await client.track("report_exported", ["report_type": "retention", "row_count": 18_420])
            default: await client.track("heartbeat", ["uptime_s": .integer(number)], lifetime: .seconds(86_400))
            }
        if case .dropped(let reason, let detail) = result { print("dropped: \(reason.rawValue), \(detail)") }
    }

    private func show(_ title: String) async {
        let seen = await client.diagnostics()
        print("\(title): \(seen.queuedEvents) queued, \(seen.queuedBytes) bytes")
        list("waiting after", seen.lastErrors)
        list("refused", seen.quarantined)
        list("lost", Dictionary(uniqueKeysWithValues: seen.drops.map { ($0.key.rawValue, $0.value) }))
        if let pause = seen.deliveryPausedUntil { print("  delivery waits until \(pause.formatted(.iso8601))") }
        if let problem = seen.storageProblem { print("  the storage: \(problem)") }
    }

    private func list(_ title: String, _ counts: [String: Int]) {
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) { print("  \(title) \(name): \(count)") }
    }
}

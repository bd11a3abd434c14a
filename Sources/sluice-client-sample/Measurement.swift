// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient

/// What a call of `track` costs its caller until the event is on disk, and how fast a full queue is delivered.
struct Measurement {
    private let options: Options
    private let folder: URL
    private let client: SluiceClient

    init(_ options: Options) throws {
        self.options = options
        // A queue of its own, so that nothing waits in it already.
        folder = options.queue.appendingPathComponent("measure-\(UUID().uuidString)", isDirectory: true)
        client = try options.client(queue: folder)
    }

    func run() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }  // it lies in a temporary folder
        try await client.setConsent([.analytics])
        var costs: [Duration] = []
        costs.reserveCapacity(options.events)
        for number in 0..<options.events {
            let start = ContinuousClock.now
            await client.track("report_exported", ["report_type": "retention", "row_count": .integer(number)])
            costs.append(ContinuousClock.now - start)
        }
        costs.sort()
        let (median, slow) = (microseconds(costs, 50), microseconds(costs, 99))
        print("track: \(median) µs median, \(slow) µs at 99 %, \(costs.count) events")

        let start = ContinuousClock.now
        let result = await client.flush()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print("flush: \(result.accepted) events in \(text(seconds, 2)) s, \(result.requests) requests, \(result.end)")
    }

    private func microseconds(_ costs: [Duration], _ percent: Int) -> String {
        text(costs[min(costs.count - 1, costs.count * percent / 100)] / .microseconds(1), 1)
    }

    private func text(_ number: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", number) }
}

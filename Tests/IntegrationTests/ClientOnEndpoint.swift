// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient
import SluiceSystem
import SluiceTestSupport

/// An app's client on a real file, against whatever address a test names.
final class ClientOnEndpoint: Sendable {
    let folder = TemporaryFolder()
    /// Moves the device's clock away from the machine's.
    let clockShift = Lock<Int64>(0)
    /// Requests that were begun.
    let begun = Lock(0)
    private let settings = Lock<@Sendable (inout SluiceConfiguration) -> Void>({ _ in })

    /// Changes the configuration of later launches.
    func configure(_ change: @escaping @Sendable (inout SluiceConfiguration) -> Void) {
        settings.withLock { $0 = change }
    }

    func shiftClock(seconds: Int) { clockShift.withLock { $0 += Int64(seconds) * 1000 } }

    /// Longer than any backoff and any lease.
    func waitOut() { shiftClock(seconds: 3601) }

    func launch(port: UInt16, path: String = "/api/mobile-events") throws -> SluiceClient {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
        var configuration = SluiceConfiguration(
            endpoint: url,
            folder: URL(fileURLWithPath: folder.path("client")),
            appVersion: "1.2.3",
            buildNumber: "45",
            platform: "ios"
        )
        configuration.delivery = .manual
        settings.withLock { $0 }(&configuration)
        var environment = ClientEnvironment.system()
        let now = environment.now
        environment.now = { [self] in now() + clockShift.withLock { $0 } }
        let send = environment.send
        environment.send = { [self] request in
            begun.withLock { $0 += 1 }
            return try await send(request)
        }
        return try SluiceClient(configuration, environment: environment)
    }

    func consented(port: UInt16) async throws -> SluiceClient {
        let client = try launch(port: port)
        try await client.setConsent([.analytics])
        return client
    }
}

extension EndpointProcess {
    /// The records in its spool, by their events' ids, each with all its copies.
    func records() throws -> [String: [String]] { try Self.records(in: spool) }

    static func records(in spool: String) throws -> [String: [String]] {
        Dictionary(grouping: try lines(in: spool, tries: 5)) { SpooledLines.id(of: $0) ?? "" }
    }

    /// A segment that is sealed while it is looked for has moved, and is found the next time.
    private static func lines(in spool: String, tries: Int) throws -> [String] {
        do {
            return try SpooledLines.all(in: spool)
        } catch {
            if tries == 1 { throw error }
            return try lines(in: spool, tries: tries - 1)
        }
    }
}

extension String {
    /// A record's event, without the times of its receipt.
    var envelope: Substring { self[(firstRange(of: "\"envelope\":")?.upperBound ?? startIndex)...] }

    /// What stands between two texts in a record.
    func between(_ start: String, _ end: String) -> String? {
        guard let first = firstRange(of: start)?.upperBound, let last = self[first...].firstRange(of: end)?.lowerBound
        else { return nil }
        return String(self[first..<last])
    }
}

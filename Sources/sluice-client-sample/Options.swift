// SPDX-License-Identifier: Apache-2.0
import Foundation
import SluiceClient

struct UsageError: Error {
    var problem: String
}

/// The words behind the program's name.
struct Options {
    static let usage = """
        usage: sluice-client-sample [--endpoint URL] [--queue FOLDER] [--events N] [--measure]

        Tracks events of deploy/samples/contract.json5 and delivers them. What cannot be delivered waits in FOLDER for the next run.
          --endpoint URL   where events go (http://127.0.0.1:8080/api/mobile-events)
          --queue FOLDER   where the queue's file lies (sluice-client-sample in the system's temporary folder)
          --events N       how many events (6; 10000 with --measure)
          --measure        prints what a call of track costs, and how long the delivery takes
        """

    private(set) var endpoint = "http://127.0.0.1:8080/api/mobile-events"
    private(set) var queue = FileManager.default.temporaryDirectory.appendingPathComponent("sluice-client-sample")
    private var count: Int?
    private(set) var measures = false
    private(set) var showsHelp = false

    var events: Int { count ?? (measures ? 10_000 : 6) }

    init(_ words: some Sequence<String>) throws {
        var words = words.makeIterator()
        func value(of option: String) throws -> String {
            guard let value = words.next() else { throw UsageError(problem: "\(option) needs a value") }
            return value
        }
        while let word = words.next() {
            switch word {
            case "--endpoint": endpoint = try value(of: word)
            case "--queue": queue = URL(fileURLWithPath: try value(of: word), isDirectory: true)
            case "--events":
                guard let number = Int(try value(of: word)), number > 0 else {
                    throw UsageError(problem: "--events needs a number from 1")
                }
                count = number
            case "--measure": measures = true
            case "--help", "-h": showsHelp = true
            default: throw UsageError(problem: "what is \(word)?")
            }
        }
    }

    /// A client for these options that delivers only when it is told to.
    func client(queue: URL? = nil) throws -> SluiceClient {
        guard let endpoint = URL(string: endpoint) else { throw UsageError(problem: "--endpoint is no address") }
        var configuration = SluiceConfiguration(
            endpoint: endpoint,
            folder: queue ?? self.queue,
            appVersion: "4.8.0",
            buildNumber: "842",
            platform: "ios"
        )
        configuration.clientID = "sample"
        configuration.delivery = .manual
        configuration.limits.queuedEvents = max(configuration.limits.queuedEvents, events)
        return try SluiceClient(configuration)
    }
}

import SluiceSoak
// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem

/// What the programs and the spool take, sampled every few seconds.
struct SoakSamples {
    /// A quantity over time.
    struct Series {
        private(set) var values: [Int] = []

        mutating func add(_ value: Int?) {
            if let value { values.append(value) }
        }

        var first: Int { values.first ?? 0 }
        var last: Int { values.last ?? 0 }
        var maximum: Int { values.max() ?? 0 }
        var median: Int { Self.median(values[...]) }

        /// Whether the last third is no higher than the first, but for some slack.
        func isFlat(slack: Int) -> Bool {
            let third = values.count / 3
            guard third > 0 else { return true }
            let (early, late) = (Self.median(values.prefix(third)), Self.median(values.suffix(third)))
            return late <= early + early / 4 + slack
        }

        private static func median(_ values: ArraySlice<Int>) -> Int {
            values.isEmpty ? 0 : values.sorted()[values.count / 2]
        }
    }

    /// One program's.
    struct Program {
        var name: String
        var descriptors = Series()
        var threads = Series()
        var anonymousBytes = Series()
    }

    /// A program that has just started has not yet taken what it takes.
    private static let youth: Int64 = 2_000_000_000

    private let interval: Int64
    private var nextAt: Int64
    private(set) var programs: [Program]
    private(set) var queueBytes = Series()
    private(set) var quarantineBytes = Series()
    private(set) var ledgerBytes = Series()

    init(names: [String], intervalSeconds: Double, _ now: Int64) {
        interval = Int64(intervalSeconds * 1e9)
        nextAt = now + interval
        programs = names.map { Program(name: $0) }
    }

    mutating func tend(_ now: Int64, _ running: [SoakProgram], _ spool: SpoolFolder) {
        guard now >= nextAt else { return }
        nextAt = now + interval
        for (index, program) in running.enumerated() where program.isRunning {
            guard let process = program.process, now - program.startedAt > Self.youth else { continue }
            programs[index].descriptors.add(process.descriptorCount)
            programs[index].threads.add(process.threadCount)
            programs[index].anonymousBytes.add(process.memory("RssAnon"))
        }
        queueBytes.add(Self.queue(of: spool))
        quarantineBytes.add(Self.allocated(spool.quarantine))
        ledgerBytes.add(try? FileStatus(of: spool.ledger).size)  // before its first line there is none
    }

    private static func queue(of spool: SpoolFolder) -> Int {
        let claims = (try? FileSystem.names(in: spool.claimed)) ?? []  // what goes away meanwhile takes no room
        return ([spool.incoming, spool.ready, spool.progress] + claims.map { "\(spool.claimed)/\($0)" })
            .reduce(0) { $0 + allocated($1) }
    }

    private static func allocated(_ folder: String) -> Int { (try? FileSystem.allocatedBytes(in: folder)) ?? 0 }
}

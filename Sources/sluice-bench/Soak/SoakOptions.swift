// SPDX-License-Identifier: Apache-2.0
import SluiceCommands

/// What the command line asks of a soak.
struct SoakOptions: Sendable {
    var minutes = 1.0
    var eventsPerSecond = 2000
    var batch = 20
    var seed: UInt64
    var faults = Set(SoakFaultKind.allCases)
    /// Mean time between two faults.
    var intervalSeconds: Double
    var isOnRealDisk: Bool
    var keepsFolder: Bool
    var sabotage: Sabotage?
    var isJSON: Bool

    init(_ arguments: inout Arguments) throws(UsageError) {
        minutes = try arguments.number("--minutes", in: 0.05...10_000) ?? minutes
        eventsPerSecond = try arguments.integer("--rate", in: 1...10_000_000) ?? eventsPerSecond
        batch = try arguments.integer("--batch", in: 1...100) ?? batch
        seed = UInt64(
            try arguments.integer("--seed", in: 0...Int(UInt32.max)) ?? Int(UInt32.random(in: 0...UInt32.max))
        )
        if let list = try arguments.option("--faults") {
            faults = list == "all" ? faults : list == "none" ? [] : try Self.kinds(list)
        }
        if let list = try arguments.option("--without") { faults.subtract(try Self.kinds(list)) }
        intervalSeconds = try arguments.number("--interval", in: 0.01...3600) ?? 3
        isOnRealDisk = try arguments.flag("--real-disk")
        keepsFolder = try arguments.flag("--keep")
        if let word = try arguments.option("--sabotage") {
            guard let sabotage = Sabotage(rawValue: word) else { throw UsageError("--sabotage takes lose or alter") }
            self.sabotage = sabotage
        }
        isJSON = try arguments.flag("--json")
        _ = try arguments.remaining()
    }

    private static func kinds(_ list: String) throws(UsageError) -> Set<SoakFaultKind> {
        var kinds: Set<SoakFaultKind> = []
        for word in list.split(separator: ",") {
            guard let kind = SoakFaultKind(rawValue: String(word)) else {
                let all = SoakFaultKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("\(word) is no fault; there are: \(all)")
            }
            kinds.insert(kind)
        }
        return kinds
    }

    var seconds: Double { minutes * 60 }

    /// Enough for batches to wait for the disk while others are made.
    var clients: Int { max(16, min(512, eventsPerSecond / 400)) }

    /// Room of the spool's own filesystem: half a minute without a destination, and the duplicate window.
    var diskMegabytes: Int { max(192, eventsPerSecond / 50) }
}

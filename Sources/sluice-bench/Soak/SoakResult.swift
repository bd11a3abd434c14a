// SPDX-License-Identifier: Apache-2.0

/// What a soak came to.
struct SoakResult {
    var seed: UInt64
    var seconds: Double
    var askedRate: Int
    var disk: String
    var tally: SoakChecker.Tally
    var books: SpoolBooks
    var arrivals: Int
    var reordered: Int
    var altered: Int
    /// Program by program: starts, SIGKILLs, SIGTERMs, ends of its own by exit code.
    var programs: [(name: String, starts: Int, kills: Int, stops: Int, ownEnds: [Int32: Int])]
    /// How often each fault was begun, and what came of it.
    var faults: [(name: String, count: Int, detail: String)]
    var samples: SoakSamples
    var booksRead: Int
    /// Everything that is not as it must be, in words; empty when all is well.
    var problems: [String]
    var notes: [String]

    var isGood: Bool { problems.isEmpty }
    var rate: Int { Int(Double(tally.acknowledged) / max(0.001, seconds)) }
}

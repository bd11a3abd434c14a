// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// A moment at which a program is killed: at one call among those that change the spool.
struct KillPoint: Sendable, CustomStringConvertible {
    enum Manner: Sendable {
        /// Instead of the call.
        case before
        /// In the middle of a write, of which five bytes are done.
        case torn
    }

    var number: Int
    var manner: Manner
    /// The call, from a run that was not killed.
    var call: String

    var description: String { "killed \(manner == .torn ? "in" : "before") call \(number), \(call)" }

    /// The text of the ids that belong to this point alone.
    var prefix: String { "\(manner == .torn ? "t" : "k")\(number)" }

    /// Whether a call is more than the check that every start makes of the folders; the endpoint's tests kill in that.
    static func isWork(_ entry: FaultLog.Entry) -> Bool {
        !entry.path.contains(".new-probe") && !(entry.operation == .mkdir && entry.hasFailed)
    }

    /// The rule that kills there; `pattern` are the paths whose calls are counted.
    func rule(_ pattern: String = "*") -> String {
        switch manner {
        case .before: "change \(pattern) \(number) kill"
        case .torn: "write \(pattern) \(number) torn=5"
        }
    }

    /// A run that is killed there; the books must balance after it.
    ///
    /// * `pattern`: the paths whose calls are counted.
    func kill(
        in sample: SampleSpool,
        counting pattern: String = "*",
        _ findings: inout Findings,
        _ run: (FaultInjector) throws -> ProcessRunner.Result
    ) throws {
        let injector = try FaultInjector(root: sample.path)
        try injector.set(rule(pattern))
        let killed = try run(injector)
        findings.equal(killed.code, 128 + SIGKILL, "killed run \(killed.errors)")
        try findings.balance(sample.spool, "after the kill")
    }

    /// All points of a run that was written down.
    ///
    /// - Parameters:
    ///   - log: what it did.
    ///   - pattern: the paths whose calls are counted.
    ///   - isMeant: which of them are points.
    /// - Returns: the kills before calls, then those in writes.
    static func all(
        of log: FaultLog,
        counting pattern: (FaultLog.Entry) -> Bool = { _ in true },
        where isMeant: (FaultLog.Entry) -> Bool = { _ in true }
    ) -> [KillPoint] {
        let changes = log.changes.filter(pattern)
        let writes = changes.filter { $0.operation == .write }
        func text(_ entry: FaultLog.Entry) -> String {
            "\(entry.operation) \(entry.path)\(entry.target.map { " > \($0)" } ?? "")"
        }
        return changes.enumerated().filter { isMeant($1) }
            .map { KillPoint(number: $0 + 1, manner: .before, call: text($1)) }
            + writes.enumerated().filter { isMeant($1) }
            .map { KillPoint(number: $0 + 1, manner: .torn, call: text($1)) }
    }
}

/// Gathers what is wrong with one case.
struct Findings {
    private(set) var texts: [String] = []

    mutating func check(_ holds: Bool, _ text: @autoclosure () -> String) {
        if !holds { texts.append(text()) }
    }

    mutating func equal<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) {
        check(found == expected, "\(what): \(found) instead of \(expected)")
    }

    /// Whether the books balance.
    mutating func balance(_ spool: SpoolFolder, _ moment: String) throws {
        let status = try SpoolStatus.read(spool)
        check(status.balanced, "\(moment): \(status.problems)")
    }

    /// Whether all of a mixed spool was delivered or is in quarantine, is in the books, and nothing else is left.
    mutating func isDone(_ mixed: SampleSpool) throws {
        try balance(mixed.spool, "at the end")
        try empty(mixed.spool)
        let status = try SpoolStatus.read(mixed.spool)
        equal(status.counts.delivered, SampleSpool.mixedDelivered.count, "delivered")
        equal(status.quarantined, SampleSpool.mixedQuarantined, "quarantined")
        equal(status.accepted, SampleSpool.mixedDelivered.count + SampleSpool.mixedQuarantined, "accepted")
    }

    /// Whether nothing is left but books and quarantine.
    mutating func empty(_ spool: SpoolFolder) throws {
        for folder in [spool.incoming, spool.ready, spool.claimed, spool.progress] {
            // What never came into place is tidied away a minute later.
            let names = try FileSystem.names(in: folder).filter { !$0.hasPrefix(".new-") }
            check(names.isEmpty, "left in \(folder): \(names)")
        }
    }
}

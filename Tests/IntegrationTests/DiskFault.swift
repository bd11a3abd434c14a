// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTestSupport
import Testing

/// A call on one of the spool's files, and how it goes wrong.
struct DiskFault: Sendable, CustomStringConvertible {
    var call: String
    /// Below the root, a pattern.
    var path: String
    var when = "*"
    /// `fail=ENOSPC`, `short=5`, `delay=300`.
    var action: String

    var rule: String { "\(call) \(path) \(when) \(action)" }
    var description: String { rule }

    /// The C library's words for the error; nil when the call succeeds after all.
    var reason: String? {
        guard let name = action.split(separator: "=").last, let number = Self.numbers[String(name)], number != EINTR
        else {
            return nil
        }
        return String(cString: strerror(number))
    }

    private static let numbers = [
        "ENOSPC": ENOSPC, "EIO": EIO, "EROFS": EROFS, "EMFILE": EMFILE, "EACCES": EACCES, "EINTR": EINTR,
        "EDQUOT": EDQUOT, "ENOLCK": ENOLCK, "EOPNOTSUPP": EOPNOTSUPP,
    ]

    /// Errors of calls that make or open a file or a folder.
    static let making = ["ENOSPC", "EIO", "EROFS", "EMFILE", "EACCES"]
    /// Errors of calls that change names.
    static let naming = ["ENOSPC", "EIO", "EROFS", "EACCES"]
    static let opening = ["EIO", "EMFILE", "EACCES"]
    static let writing = ["ENOSPC", "EDQUOT", "EIO"]
    static let syncing = ["EIO", "ENOSPC"]

    /// One fault for each error, as long as the rule stands.
    static func each(_ errors: [String], _ call: String, _ path: String, when: String = "*") -> [DiskFault] {
        errors.map { DiskFault(call: call, path: path, when: when, action: "fail=\($0)") }
    }

    /// What costs time and no more: the call is interrupted three times.
    static func interrupted(_ call: String, _ path: String) -> DiskFault {
        DiskFault(call: call, path: path, when: "1-3", action: "fail=EINTR")
    }

    /// All of that on a file that is written and synced.
    static func harmless(_ path: String) -> [DiskFault] {
        [short(path), interrupted("write|fsync|fdatasync|lock", path), late("fsync|fdatasync", path)]
    }

    static func late(_ call: String, _ path: String, milliseconds: Int = 200) -> DiskFault {
        DiskFault(call: call, path: path, when: "1", action: "delay=\(milliseconds)")
    }

    static func short(_ path: String, bytes: Int = 5) -> DiskFault {
        DiskFault(call: "write", path: path, when: "*", action: "short=\(bytes)")
    }
}

/// The faults of one file, or of one step, with what is to come of each.
struct FaultGroup<Outcome: Sendable>: Sendable, CustomTestStringConvertible {
    var name: String
    var cases: [(fault: DiskFault, outcome: Outcome)]
    /// The first error of each call; the others take the same way.
    var firsts: [(fault: DiskFault, outcome: Outcome)]

    init(_ name: String, _ rows: [([DiskFault], Outcome)]) {
        self.name = name
        cases = rows.flatMap { faults, outcome in faults.map { ($0, outcome) } }
        firsts = rows.compactMap { faults, outcome in faults.first.map { ($0, outcome) } }
    }

    var testDescription: String { name }
}

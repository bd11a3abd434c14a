// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// Programs of the system that tests compare with or inject faults by.
package enum Tool {
    /// The path of a program, nil when it is not installed.
    package static func path(of name: String) -> String? {
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return folders.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    package static func isInstalled(_ name: String) -> Bool { path(of: name) != nil }

    /// Runs a program to its end.
    package static func run(_ name: String, _ arguments: String...) throws(SystemError) -> ProcessRunner.Result {
        try run(name, arguments)
    }

    /// The same with a list of words.
    package static func run(_ name: String, _ arguments: [String]) throws(SystemError) -> ProcessRunner.Result {
        guard let path = path(of: name) else { throw SystemError(call: "execve", path: name, errno: ENOENT) }
        return try ProcessRunner().run(path, arguments)
    }
}

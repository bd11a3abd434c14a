// SPDX-License-Identifier: Apache-2.0

/// How a command ended, for scripts, cron and systemd; the numbers of `sysexits.h`.
package enum ExitCode: Int32, Sendable {
    case ok = 0
    /// The command line is wrong.
    case usage = 64
    /// Data is damaged or was refused; everything else was done.
    case badData = 65
    /// The destination refuses everything, and delivery halted.
    case unavailable = 69
    /// A fault of the program itself.
    case software = 70
    /// A system call failed.
    case io = 74
    /// Work remains; a later run can do it.
    case tryLater = 75
    /// The configuration, a key or the rights on a folder are wrong; nothing was touched.
    case configuration = 78
}

/// A command that cannot go on: what to tell the person, and the code to end with.
package struct CommandError: Error, Hashable, Sendable, CustomStringConvertible {
    package var exitCode: ExitCode
    package var description: String

    package init(_ exitCode: ExitCode, _ description: String) {
        self.exitCode = exitCode
        self.description = description
    }
}

/// A command line that makes no sense; the text says what does.
package struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) {
        self.description = description
    }
}

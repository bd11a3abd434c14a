// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Whoever sits in front of the program, if anybody does.
enum Terminal {
    /// Whether a question could be answered.
    static var hasPerson: Bool { isatty(STDIN_FILENO) == 1 }

    /// Asks on standard error; anything but yes is no.
    static func confirms(_ question: String) -> Bool {
        let bytes = Array("\(question) [y/N] ".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
        return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc

enum ProcessEnd {
    /// Ends the process without waiting for anything.
    static func now(_ code: Int32) -> Never { _exit(code) }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// A system call that failed: which call, on what path, and why.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call's name as in its manual page, such as `fdatasync`.
    package var call: String
    package var path: String
    package var errno: Int32

    package init(call: String, path: String, errno: Int32) {
        self.call = call
        self.path = path
        self.errno = errno
    }

    /// Whether room has to be made before the same call can succeed.
    package var isOutOfSpace: Bool { errno == ENOSPC || errno == EDQUOT }

    /// Whether the path is not there, or is no folder where one was opened; a link to a folder is none.
    package var isNoFolder: Bool { errno == ENOENT || errno == ENOTDIR || errno == ELOOP }

    package var description: String { "\(path): \(call) failed: \(reason)" }

    /// The C library's text for `errno`.
    package var reason: String { String(cString: strerror(errno)) }
}

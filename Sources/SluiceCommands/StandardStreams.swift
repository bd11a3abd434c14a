// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Descriptors 0 to 2.
enum StandardStreams {
    /// Opens `/dev/null` in the place of those that are closed; else the next file would get such a number, and what
    /// is printed would go into it.
    static func open() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = Glibc.open("/dev/null", O_RDWR)
        }
    }
}

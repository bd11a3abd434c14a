// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// The number of files that a process may have open.
package enum DescriptorLimit {
    /// Raises the soft limit to the hard one, as every server does that does not use `select(2)`.
    package static func raise() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
    }
}

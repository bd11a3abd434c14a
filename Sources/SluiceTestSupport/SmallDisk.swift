// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// A filesystem of a megabyte or a few in memory, gone with its last user.
package final class SmallDisk {
    /// Whether this process may mount one; tests that need it are skipped by name otherwise.
    package static let isPossible = SmallDisk() != nil

    package let path: String
    private let folder = TemporaryFolder()

    package init?(megabytes: Int = 1) {
        path = folder.path("disk")
        let options = "size=\(megabytes)m,mode=755"
        guard mkdir(path, 0o755) == 0, mount("none", path, "tmpfs", 0, options) == 0 else { return nil }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Takes all room that is left.
    package func fill() {
        let file = open("\(path)/fill", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let page = [UInt8](repeating: 0, count: 4096)
        while write(file, page, page.count) > 0 {}
        close(file)
    }
}

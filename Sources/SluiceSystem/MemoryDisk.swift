// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// A filesystem in memory of its own, which may be filled up without harm to anybody else; it goes with its owner.
package final class MemoryDisk {
    package let path: String
    private var fillPath: String { "\(path)/.fill" }

    /// Mounts one at `path`, an absolute one, which is made if it is not there.
    ///
    /// - Returns: nil when this process may not mount.
    package init?(at path: String, megabytes: Int) {
        self.path = path
        guard mkdir(path, 0o755) == 0 || errno == EEXIST,
            mount("none", path, "tmpfs", 0, "size=\(megabytes)m,mode=755") == 0
        else { return nil }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Takes all room that is left.
    package func fill() {
        let file = open(fillPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        let block = [UInt8](repeating: 0, count: 1 << 20)
        for size in [block.count, 4096] { while write(file, block, size) > 0 {} }
        close(file)
    }

    /// Gives the room back.
    package func free() { unlink(fillPath) }
}

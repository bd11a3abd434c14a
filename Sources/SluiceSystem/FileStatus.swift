// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// What `lstat(2)` or `fstat(2)` tells of a file; links are not followed.
package struct FileStatus: Sendable {
    /// Which file it is, whatever its name.
    package struct Identity: Hashable, Sendable {
        package var device: UInt64
        package var inode: UInt64
    }

    package var identity: Identity
    package var mode: mode_t
    package var owner: uid_t
    package var group: gid_t
    package var links: Int
    /// Length in bytes.
    package var size: Int
    /// Room taken on disk in bytes.
    package var allocated: Int
    /// Last change of the content, Unix seconds.
    package var modifiedAt: Int

    init(_ value: stat) {
        identity = Identity(device: UInt64(value.st_dev), inode: UInt64(value.st_ino))
        mode = value.st_mode
        owner = value.st_uid
        group = value.st_gid
        links = Int(value.st_nlink)
        size = Int(value.st_size)
        allocated = Int(value.st_blocks) * 512
        modifiedAt = Int(value.st_mtim.tv_sec)
    }

    package init(of path: String) throws(SystemError) {
        var value = stat()
        _ = try retrying("lstat", path) { lstat(path, &value) }
        self.init(value)
    }

    package var isRegularFile: Bool { mode & S_IFMT == S_IFREG }
    package var isFolder: Bool { mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { mode & S_IFMT == S_IFLNK }
}

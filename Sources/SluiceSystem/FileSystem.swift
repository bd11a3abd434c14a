// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem
package import Glibc

/// Calls on paths: folders, names and room.
package enum FileSystem {
    /// Makes a folder with exactly `mode`, whatever the umask.
    ///
    /// - Returns: false when something of that name was there already.
    @discardableResult
    package static func makeFolder(_ path: String, mode: mode_t = 0o2770) throws(SystemError) -> Bool {
        do throws(SystemError) {
            _ = try retrying("mkdir", path) { mkdir(path, mode) }
        } catch {
            if error.errno == EEXIST { return false }
            throw error
        }
        _ = try retrying("chmod", path) { chmod(path, mode) }
        return true
    }

    package static func removeFolder(_ path: String) throws(SystemError) {
        _ = try retrying("rmdir", path) { rmdir(path) }
    }

    /// Moves `source` to `target`; a taken name is EEXIST, never overwritten, `renameat2(RENAME_NOREPLACE)`.
    package static func move(_ source: String, to target: String) throws(SystemError) {
        _ = try retrying("renameat2", target) {
            sluice_rename_noreplace(source, target)
        }
    }

    /// Puts `source` in the place of `target` in one step, `rename(2)`.
    package static func replace(_ target: String, with source: String) throws(SystemError) {
        _ = try retrying("rename", target) { rename(source, target) }
    }

    package static func remove(_ path: String) throws(SystemError) {
        _ = try retrying("unlink", path) { unlink(path) }
    }

    /// Removes `path` and takes its absence as success.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    package static func removeIfPresent(_ path: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try remove(path)
            return true
        } catch {
            if error.errno == ENOENT { return false }
            throw error
        }
    }

    /// Removes a folder and all it holds; links are removed, never followed.
    package static func removeTree(_ path: String) throws(SystemError) {
        for name in try names(in: path) {
            let inner = "\(path)/\(name)"
            if try FileStatus(of: inner).isFolder { try removeTree(inner) } else { try remove(inner) }
        }
        try removeFolder(path)
    }

    /// Makes the names inside a folder durable.
    package static func syncFolder(_ path: String) throws(SystemError) {
        let folder = try File(opening: path, O_RDONLY | O_DIRECTORY)
        try folder.sync()
    }

    /// The names in a folder, in byte order, without `.` and `..`; names that are not UTF-8 come repaired, and so
    /// cannot be opened by mistake.
    package static func names(in path: String) throws(SystemError) -> [String] {
        var names: [String] = []
        try forEachEntry(in: path) { name, _ in names.append(String(decoding: name, as: UTF8.self)) }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Calls `body` with the bytes of every name in a folder, in no order and without `.` and `..`; for folders that
    /// are too large for a list of texts.
    package static func forEachName(
        in path: String,
        _ body: (_ name: UnsafeRawBufferPointer) -> Void
    ) throws(SystemError) {
        try forEachEntry(in: path) { name, _ in body(name) }
    }

    /// Calls `body` with every name in a folder and its status; names that vanish meanwhile are left out.
    package static func forEachFile(
        in path: String,
        _ body: (_ name: UnsafeRawBufferPointer, _ status: FileStatus) -> Void
    ) throws(SystemError) {
        try forEachEntry(in: path) { name, folder in
            var value = stat()
            guard let text = name.assumingMemoryBound(to: CChar.self).baseAddress,
                fstatat(folder, text, &value, AT_SYMLINK_NOFOLLOW) == 0
            else { return }
            body(name, FileStatus(value))
        }
    }

    /// Calls `body` with each name, behind which a zero stands, and the folder's descriptor.
    ///
    /// A link to a folder is no folder.
    private static func forEachEntry(
        in path: String,
        _ body: (UnsafeRawBufferPointer, Int32) -> Void
    ) throws(SystemError) {
        let folder = try File(opening: path, O_RDONLY | O_DIRECTORY)
        let descriptor = try retrying("fcntl", path) { fcntl(folder.descriptor, F_DUPFD_CLOEXEC, 0) }
        guard let stream = fdopendir(descriptor) else {
            let code = errno
            _ = Glibc.close(descriptor)
            throw SystemError(call: "fdopendir", path: path, errno: code)
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw SystemError(call: "readdir", path: path, errno: errno) }
                return
            }
            withUnsafePointer(to: &entry.pointee.d_name) { name in
                let name = UnsafeRawPointer(name)
                let length = strlen(name.assumingMemoryBound(to: CChar.self))
                let isDot = length <= 2 && memcmp(name, "..", length) == 0
                if !isDot { body(UnsafeRawBufferPointer(start: name, count: length), folder.descriptor) }
            }
        }
    }

    /// The absolute path without links; the file must be there.
    package static func resolvedPath(_ path: String) throws(SystemError) -> String {
        guard let resolved = realpath(path, nil) else {
            throw SystemError(call: "realpath", path: path, errno: errno)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The number of names in a folder, counted up to `limit`.
    package static func countNames(in path: String, upTo limit: Int) throws(SystemError) -> Int {
        guard let stream = opendir(path) else { throw SystemError(call: "opendir", path: path, errno: errno) }
        defer { closedir(stream) }
        var count = -2
        while count < limit, readdir(stream) != nil { count += 1 }
        return max(0, count)
    }

    /// Room on disk that the files of one folder take; those that go away meanwhile are not counted.
    package static func allocatedBytes(in path: String) throws(SystemError) -> Int {
        var sum = 0
        try forEachFile(in: path) { _, status in if status.isRegularFile { sum += status.allocated } }
        return sum
    }

    /// Bytes that an unprivileged process can still write on the filesystem of `path`.
    package static func freeBytes(at path: String) throws(SystemError) -> Int {
        var value = statvfs()
        _ = try retrying("statvfs", path) { statvfs(path, &value) }
        return Int(value.f_bavail) * Int(value.f_frsize)
    }

    /// The filesystem's type number, `statfs(2)`; network filesystems are known by it.
    package static func typeNumber(at path: String) throws(SystemError) -> Int {
        var type: Int64 = 0
        _ = try retrying("statfs", path) { sluice_filesystem_type(path, &type) }
        return Int(type)
    }

    /// Bytes of the filesystem of `path`, used or not.
    package static func totalBytes(at path: String) throws(SystemError) -> Int {
        var value = statvfs()
        _ = try retrying("statvfs", path) { statvfs(path, &value) }
        return Int(value.f_blocks) * Int(value.f_frsize)
    }

    /// Reads a whole small file.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - limit: the most bytes it may have.
    ///   - followLinks: true for files that people name, such as the configuration, which Kubernetes mounts as links.
    /// - Returns: its bytes.
    /// - Throws: EFBIG when it is larger than `limit` bytes; EINVAL when it is no regular file.
    package static func contents(
        of path: String,
        limit: Int,
        followLinks: Bool = false
    ) throws(SystemError) -> [UInt8] {
        let file = try File(opening: path, O_RDONLY, followLinks: followLinks)
        let status = try file.status()
        guard status.isRegularFile else { throw SystemError(call: "open", path: path, errno: EINVAL) }
        guard status.size <= limit else { throw SystemError(call: "read", path: path, errno: EFBIG) }
        return try contents(of: file, limit: limit, guess: status.size)
    }

    /// Reads a file of `/proc`, whose size is not known before.
    package static func contents(ofProc path: String) throws(SystemError) -> [UInt8] {
        try contents(of: File(opening: path, O_RDONLY), limit: .max - 1, guess: 0)
    }

    private static func contents(
        of file: consuming File,
        limit: Int,
        guess: Int
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: max(guess + 1, 16 << 10))
        while true {
            var failure: SystemError?
            let count = piece.withUnsafeMutableBytes { buffer in
                do throws(SystemError) {
                    return try file.read(into: buffer, at: bytes.count)
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
            bytes += piece[..<count]
            guard bytes.count <= limit else { throw SystemError(call: "read", path: file.path, errno: EFBIG) }
            if count < piece.count { return bytes }
        }
    }
}

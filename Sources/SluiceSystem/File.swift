// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem
package import Glibc

/// An open file that closes itself; every call retries EINTR and reports what failed on which path.
///
/// Descriptors are close-on-exec, links are never followed at the last path component, and opening never waits
/// (a FIFO in the spool must not hang a program).
package struct File: ~Copyable {
    package let descriptor: Int32
    package let path: String

    package init(adopting descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Opens `path`.
    ///
    /// - Parameters:
    ///   - path: where it is.
    ///   - flags: `open(2)` flags; O_CLOEXEC, O_NOFOLLOW and O_NONBLOCK are added.
    ///   - mode: permissions of a created file, set exactly, whatever the umask.
    ///   - followLinks: leaves O_NOFOLLOW out; for files that people name, which Kubernetes mounts as links.
    /// - Throws: what `open(2)` or `fchmod(2)` says; nothing is left open then.
    package init(
        opening path: String,
        _ flags: Int32,
        mode: mode_t = 0o660,
        followLinks: Bool = false
    ) throws(SystemError) {
        let descriptor = try retrying("open", path) {
            Glibc.open(path, flags | O_CLOEXEC | O_NONBLOCK | (followLinks ? 0 : O_NOFOLLOW), mode)
        }
        if flags & O_CREAT != 0 && flags & O_EXCL != 0 && fchmod(descriptor, mode) != 0 {
            let code = errno
            _ = Glibc.close(descriptor)
            throw SystemError(call: "fchmod", path: path, errno: code)
        }
        self.init(adopting: descriptor, path: path)
    }

    /// Writes all bytes at the current position; on an error an unknown part of them was written.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            written += try retryingLong("write", path) { Glibc.write(descriptor, rest.baseAddress, rest.count) }
        }
    }

    /// Writes all bytes of `text` in as few calls as the kernel takes, one for a short text.
    package func write(_ text: String) throws(SystemError) {
        let bytes = Array(text.utf8)
        let failure: SystemError? = bytes.withUnsafeBytes { bytes in
            do throws(SystemError) {
                try write(bytes)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Writes all bytes at `offset`; the current position stays.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let position = off_t(offset + written)
            written += try retryingLong("pwrite", path) {
                pwrite(descriptor, rest.baseAddress, rest.count, position)
            }
        }
    }

    /// The current position: after a write with O_APPEND, the end of what it wrote.
    package func position() throws(SystemError) -> Int {
        try retryingLong("lseek", path) { Int(lseek(descriptor, 0, SEEK_CUR)) }
    }

    /// Reads into `buffer` from `offset` until it is full or the file ends.
    ///
    /// - Returns: the number of bytes read, less than the buffer's size only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        var count = 0
        while count < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            let got = try retryingLong("pread", path) {
                pread(descriptor, rest.baseAddress, rest.count, off_t(offset + count))
            }
            if got == 0 { break }
            count += got
        }
        return count
    }

    /// Reads once at the current position; for pipes and terminals too, which it waits for.
    ///
    /// - Returns: the bytes that came, 0 at the end.
    package func readSome(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        while true {
            do throws(SystemError) {
                return try retryingLong("read", path) { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
            } catch {
                guard error.errno == EAGAIN else { throw error }
                var target = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&target, 1, -1)
            }
        }
    }

    /// Makes content and size durable, `fdatasync(2)`.
    package func syncData() throws(SystemError) {
        _ = try retrying("fdatasync", path) { fdatasync(descriptor) }
    }

    /// Makes content and all attributes durable, `fsync(2)`.
    package func sync() throws(SystemError) {
        _ = try retrying("fsync", path) { fsync(descriptor) }
    }

    package func truncate(to size: Int) throws(SystemError) {
        _ = try retrying("ftruncate", path) { ftruncate(descriptor, off_t(size)) }
    }

    /// Reserves room on disk for `range`, so that later writes there cannot fail for space, `posix_fallocate(3)`.
    package func reserve(from offset: Int, count: Int) throws(SystemError) {
        // Returns the error instead of leaving it in `errno`.
        var code: Int32
        repeat { code = posix_fallocate(descriptor, off_t(offset), off_t(count)) } while code == EINTR
        if code != 0 { throw SystemError(call: "posix_fallocate", path: path, errno: code) }
    }

    /// Reserves room on disk as `reserve(from:count:)` does, and leaves the file's length as it is.
    ///
    /// - Returns: false when the filesystem knows no such thing.
    package func reserveBehindEnd(from offset: Int, count: Int) throws(SystemError) -> Bool {
        do throws(SystemError) {
            _ = try retrying("fallocate", path) {
                sluice_reserve_behind_end(descriptor, Int64(offset), Int64(count))
            }
            return true
        } catch {
            if error.errno == EOPNOTSUPP || error.errno == ENOSYS { return false }
            throw error
        }
    }

    /// Makes a range read as zeros and gives its room back to the disk, where the filesystem can; else writes zeros.
    package func clear(from offset: Int, count: Int) throws(SystemError) {
        do throws(SystemError) {
            _ = try retrying("fallocate", path) { sluice_punch_hole(descriptor, Int64(offset), Int64(count)) }
        } catch {
            guard error.errno == EOPNOTSUPP || error.errno == ENOSYS else { throw error }
            var zeros = ByteBuffer(capacity: 64 << 10)
            zeros.append(upTo: 64 << 10) { room in
                room.initializeMemory(as: UInt8.self, repeating: 0)
                return room.count
            }
            var done = 0
            while done < count {
                let piece = UnsafeRawBufferPointer(rebasing: zeros.bytes[..<min(zeros.count, count - done)])
                try write(piece, at: offset + done)
                done += piece.count
            }
        }
    }

    package func status() throws(SystemError) -> FileStatus {
        var value = stat()
        _ = try retrying("fstat", path) { fstat(descriptor, &value) }
        return FileStatus(value)
    }

    /// Takes the file's `flock(2)` without waiting.
    ///
    /// - Returns: false when somebody else holds it.
    package func tryLock(exclusive: Bool = true) throws(SystemError) -> Bool {
        let operation = (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB
        do throws(SystemError) {
            _ = try retrying("flock", path) { flock(descriptor, operation) }
            return true
        } catch {
            if error.errno == EWOULDBLOCK { return false }
            throw error
        }
    }

    /// Waits for the file's `flock(2)`; only for locks that are held for a few system calls.
    package func lock(exclusive: Bool = true) throws(SystemError) {
        _ = try retrying("flock", path) { flock(descriptor, exclusive ? LOCK_EX : LOCK_SH) }
    }

    package func unlock() throws(SystemError) {
        _ = try retrying("flock", path) { flock(descriptor, LOCK_UN) }
    }

    /// Whether the path still names this very file.
    package func isStillAtItsPath() -> Bool {
        guard let here = try? status(), let there = try? FileStatus(of: path) else { return false }  // gone: not there
        return here.identity == there.identity
    }
}

func retrying(_ call: String, _ path: String, _ body: () -> Int32) throws(SystemError) -> Int32 {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw SystemError(call: call, path: path, errno: code) }
    }
}

func retryingLong(_ call: String, _ path: String, _ body: () -> Int) throws(SystemError) -> Int {
    while true {
        let result = body()
        if result >= 0 { return result }
        let code = errno
        if code != EINTR { throw SystemError(call: call, path: path, errno: code) }
    }
}

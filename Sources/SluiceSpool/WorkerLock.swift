// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// The `lock` file in a worker's folder, held by `flock(2)`: as long as it is held, the worker lives.
struct WorkerLock: ~Copyable, Sendable {
    static let name = "lock"
    /// Locks that are being made, and what stood in a lock's place.
    static let hiddenPrefix = "\(SegmentName.newPrefix)\(name)-"

    let file: File

    private init(_ file: consuming File) { self.file = file }

    /// Makes the folder `folder` with its lock, held before the folder can be seen.
    ///
    /// - Returns: nil when somebody tidied the folder away before it was in place; try again with another name.
    static func make(folder: String, named name: String) throws(SystemError) -> WorkerLock? {
        let hidden = "\(folder)/\(SegmentName.newPrefix)\(name)"
        do throws(SystemError) {
            try FileSystem.makeFolder(hidden, mode: SpoolFolder.folderMode)
            let file = try File(
                opening: "\(hidden)/\(Self.name)",
                O_RDWR | O_CREAT | O_EXCL,
                mode: SpoolFolder.fileMode
            )
            guard try file.tryLock() else { return nil }
            try FileSystem.move(hidden, to: "\(folder)/\(name)")
            // A claim must not outlive its folder's name in a loss of power: nobody looks for segments under a hidden one.
            try FileSystem.syncFolder(folder)
            let placed = File(adopting: try duplicate(of: file), path: "\(folder)/\(name)/\(Self.name)")
            return placed.isStillAtItsPath() ? WorkerLock(placed) : nil
        } catch {
            if error.errno == ENOENT { return nil }
            _ = try? FileSystem.removeIfPresent("\(hidden)/\(Self.name)")  // the first fault is the one to report
            _ = try? FileSystem.removeFolder(hidden)
            throw error
        }
    }

    /// Takes the lock of a worker that is gone.
    ///
    /// A folder without a lock file, such as one that a cleaner of temporary files went through, gets a new one.
    ///
    /// - Returns: nil when the worker lives or the folder is gone.
    static func take(folder: String) throws(SystemError) -> WorkerLock? {
        let path = "\(folder)/\(Self.name)"
        for _ in 0..<8 {
            do throws(SystemError) {
                let file = try File(opening: path, O_RDWR)
                guard try file.tryLock() else { return nil }
                if file.isStillAtItsPath() { return WorkerLock(file) }
            } catch {
                guard error.errno == ENOENT else { throw error }
                guard try makeMissing(in: folder) else { return nil }
            }
        }
        return nil
    }

    /// Puts what is no lock file, such as a folder or a link of that name, out of the lock's way.
    ///
    /// A worker that lives finds its own lock gone and stops, as it does when the file is missing.
    ///
    /// - Returns: whether there was such a thing.
    static func clearPlace(in folder: String) throws(SystemError) -> Bool {
        let path = "\(folder)/\(Self.name)"
        do throws(SystemError) {
            if try FileStatus(of: path).isRegularFile { return false }
            try FileSystem.move(path, to: "\(folder)/\(hiddenPrefix)\(SpoolFolder.randomText())")
            return true
        } catch {
            if error.errno == ENOENT { return false }
            throw error
        }
    }

    /// - Returns: false when the folder is gone.
    private static func makeMissing(in folder: String) throws(SystemError) -> Bool {
        let hidden = "\(folder)/\(hiddenPrefix)\(SpoolFolder.randomText())"
        do throws(SystemError) {
            _ = try File(opening: hidden, O_RDWR | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode)
            try FileSystem.move(hidden, to: "\(folder)/\(Self.name)")
            return true
        } catch {
            if error.errno == ENOENT { return false }
            _ = try? FileSystem.removeIfPresent(hidden)  // the first fault is the one to report
            if error.errno == EEXIST { return true }
            throw error
        }
    }

    /// The same open file, and so the same lock, under another path.
    private static func duplicate(of file: borrowing File) throws(SystemError) -> Int32 {
        let copy = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
        if copy < 0 { throw SystemError(call: "fcntl", path: file.path, errno: errno) }
        return copy
    }

    /// Whether the path still names the file that is held; if not, another worker may have taken the claims.
    var isHeld: Bool { file.isStillAtItsPath() }
}

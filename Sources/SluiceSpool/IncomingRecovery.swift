// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// Moves segments whose writer is gone from `incoming/` to `ready/`, by renaming only.
///
/// A file whose lock (`flock`) is free has no writer: locks are held before names show, and as long as a writer lives.
/// Between opening a file and locking it, its writer may seal and rename it, or another recovery may; so the path must
/// still name the very file that is locked, and the lock is kept until after the rename.
package struct IncomingRecovery: Sendable {
    /// Segments that were moved.
    package private(set) var recovered: [SegmentName] = []
    /// Segments that are being written.
    package private(set) var held = 0
    /// What could not be judged or moved, and names that are no segment's; everything else was looked at all the same.
    package private(set) var problems: [SpoolError] = []

    /// A `.new-` file without a lock that is older was left by a crash; nobody was told that it holds anything.
    private static let abandonedAfterSeconds = 60

    /// Looks at every name in `incoming` once.
    ///
    /// - Throws: when the folder itself cannot be read or synced.
    package init(incoming: String, ready: String, clock: SystemClock = .system) throws(SpoolError) {
        let names = try spoolCall { () throws(SystemError) in try FileSystem.names(in: incoming) }
        for name in names {
            do throws(SystemError) {
                if let segment = SegmentName(openFileName: name) {
                    try recover(segment, incoming, ready)
                } else if name.utf8.starts(with: SegmentName.newPrefix.utf8) {
                    try tidy("\(incoming)/\(name)", clock)
                } else {
                    problems.append(Self.foreign("\(incoming)/\(name)", "not a segment's name"))
                }
            } catch {
                // Gone meanwhile: its writer was quicker.
                if error.errno != ENOENT { problems.append(SpoolError(error, disposition: .leaveAlone)) }
            }
        }
        guard !recovered.isEmpty else { return }
        try spoolCall { () throws(SystemError) in
            try FileSystem.syncFolder(ready)
            try FileSystem.syncFolder(incoming)
        }
    }

    package init(in spool: SpoolFolder, clock: SystemClock = .system) throws(SpoolError) {
        try self.init(incoming: spool.incoming, ready: spool.ready, clock: clock)
    }

    private mutating func recover(
        _ segment: SegmentName,
        _ incoming: String,
        _ ready: String
    ) throws(SystemError) {
        let path = "\(incoming)/\(segment.openFileName)"
        let status = try FileStatus(of: path)
        guard status.isRegularFile, status.links == 1 else {
            problems.append(Self.foreign(path, "not a regular file with one name"))
            return
        }
        while true {
            let file = try File(opening: path, O_RDONLY)
            guard try file.tryLock() else {
                held += 1
                return
            }
            // Held until the rename is done, whatever the compiler takes for the last use of `file`.
            defer { try? file.unlock() }  // closing would do it as well
            guard file.isStillAtItsPath() else { continue }
            try FileSystem.move(path, to: "\(ready)/\(segment.sealedFileName)")
            recovered.append(segment)
            return
        }
    }

    /// Removes what a crash left before it was a segment.
    private func tidy(_ path: String, _ clock: SystemClock) throws(SystemError) {
        let status = try FileStatus(of: path)
        guard status.isRegularFile, clock.wallSeconds - status.modifiedAt > Self.abandonedAfterSeconds else { return }
        let file = try File(opening: path, O_RDONLY)
        guard try file.tryLock() else { return }
        defer { try? file.unlock() }  // closing would do it as well
        if file.isStillAtItsPath() { try FileSystem.remove(path) }
    }

    private static func foreign(_ path: String, _ detail: String) -> SpoolError {
        SpoolError(.notASpool, path: path, detail: "left alone: \(detail)", disposition: .leaveAlone)
    }
}

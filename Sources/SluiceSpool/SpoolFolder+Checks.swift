// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

extension SpoolFolder {
    private static let formatLine = "sluice-spool "

    /// Reads FORMAT.
    ///
    /// - Returns: false when there is none.
    func checkFormat() throws(SpoolError) -> Bool {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(of: format, limit: 4096)
        } catch {
            if error.errno == ENOENT { return false }
            throw SpoolError(error, disposition: .stop)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.starts(with: Self.formatLine.utf8),
            let version = Int(text.dropFirst(Self.formatLine.count).prefix { $0 != "\n" }), version > 0
        else {
            throw SpoolError(.notASpool, path: format, detail: "this is not the FORMAT file of a Sluice spool")
        }
        guard version <= Self.version else {
            throw SpoolError(
                .unsupportedVersion,
                path: format,
                detail:
                    "the spool has version \(version), this program reads up to \(Self.version); nothing was touched",
                disposition: .stop
            )
        }
        return true
    }

    /// Puts FORMAT in place in one step; somebody else may have been faster.
    ///
    /// Its name is durable once the root is synced.
    func writeFormat() throws(SpoolError) {
        let name = "\(root)/\(SegmentName.newPrefix)FORMAT-\(Self.randomText())"
        do throws(SystemError) {
            let file = try File(opening: name, O_WRONLY | O_CREAT | O_EXCL, mode: Self.fileMode)
            try file.write("\(Self.formatLine)\(Self.version)\n")
            try file.sync()
            try FileSystem.move(name, to: format)
        } catch {
            _ = try? FileSystem.removeIfPresent(name)  // the first fault is the one to report
            if error.errno == EEXIST, try checkFormat() { return }
            throw SpoolError(error, disposition: .stop)
        }
    }

    /// A name in the root for a file that is put in place when it is whole.
    func hidden(_ kind: String) -> String { "\(root)/\(SegmentName.newPrefix)\(kind)-\(Self.randomText())" }

    /// Removes what crashes left of such files; the caller holds the lock without which nobody makes one.
    func removeHidden(_ kind: String) throws(SystemError) {
        let prefix = "\(SegmentName.newPrefix)\(kind)-"
        for name in try FileSystem.names(in: root) where name.utf8.starts(with: prefix.utf8) {
            try FileSystem.removeIfPresent("\(root)/\(name)")
        }
    }

    static func randomText() -> String { SegmentName.writerText(UInt64.random(in: .min ... .max)) }

    // MARK: Filesystem

    /// The name of a filesystem that is not local, by its number in `statfs(2)`.
    ///
    /// FUSE counts: what lies behind it and what its `fsync` means cannot be known.
    package static func refusedFilesystem(type: Int) -> String? {
        switch UInt32(truncatingIfNeeded: type) {
        case 0x6969: "NFS"
        case 0xFF53_4D42, 0xFE53_4D42, 0x517B: "SMB"
        case 0x0102_1997: "9P"
        case 0x5346_414F, 0x6B41_4653: "AFS"
        case 0x7375_7245: "Coda"
        case 0x00C3_6400: "Ceph"
        case 0x6573_5546: "FUSE"
        case 0x0BD0_0BD0: "Lustre"
        case 0x0116_1970: "GFS2"
        case 0x7461_636F: "OCFS2"
        case 0x1983_0326: "BeeGFS"
        case 0x4750_4653: "GPFS"
        case 0x786F_4256: "VirtualBox shared folder"
        case 0xBACB_ACBC: "VMware shared folder"
        default: nil
        }
    }

    func checkFilesystem() throws(SpoolError) {
        let type = try Self.stopping { () throws(SystemError) in try FileSystem.typeNumber(at: root) }
        guard let name = Self.refusedFilesystem(type: type) else { return }
        throw SpoolError(
            .wrongFilesystem,
            path: root,
            detail: "this is a \(name) filesystem; locks and syncs need a local one, such as ext4, XFS or tmpfs"
        )
    }

    /// Makes the folders that are not there; their names are durable once the root is synced.
    func makeParts() throws(SpoolError) {
        for part in Part.allCases {
            do throws(SystemError) {
                try FileSystem.makeFolder(path(of: part), mode: Self.folderMode)
            } catch {
                throw refusal(error, in: root)
            }
        }
    }

    /// All parts must be real folders on the filesystem of the root.
    func checkParts() throws(SpoolError) {
        let top = try Self.stopping { () throws(SystemError) in try FileStatus(of: root) }
        guard top.isFolder else { throw SpoolError(.notASpool, path: root, detail: "this is not a folder") }
        for part in Part.allCases {
            let path = path(of: part)
            let status = try Self.stopping { () throws(SystemError) in try FileStatus(of: path) }
            guard status.isFolder else {
                let kind = status.isLink ? "a symbolic link" : "not a folder"
                throw SpoolError(
                    .notASpool,
                    path: path,
                    detail: "this is \(kind); a spool's folders must be real folders"
                )
            }
            guard status.identity.device == top.identity.device else {
                throw SpoolError(
                    .wrongFilesystem,
                    path: path,
                    detail: "this folder is on another filesystem than \(root); a spool must be on one, for renames"
                )
            }
        }
    }

    // MARK: Probe

    /// Makes a file, moves it through all folders and removes it.
    ///
    /// It has one name, under the root's lock, so that what a crash leaves of it is gone with the next start.
    ///
    /// A full disk is no reason to stop: a relay must be able to drain then, and a writer says so by itself.
    func probe() throws(SpoolError) {
        let name = "\(SegmentName.newPrefix)probe"
        var folder = root
        let lock = try rootLock()
        defer { try? lock.file.unlock() }  // closing would do it as well
        for leftOver in [root] + Part.allCases.map(path(of:)) {
            do throws(SystemError) {
                try FileSystem.removeIfPresent("\(leftOver)/\(name)")
            } catch {
                throw refusal(error, in: leftOver)
            }
        }
        do throws(SystemError) {
            _ = try File(opening: "\(folder)/\(name)", O_WRONLY | O_CREAT | O_EXCL, mode: Self.fileMode)
        } catch {
            if error.isOutOfSpace { return }
            throw refusal(error, in: folder)
        }
        for part in Part.allCases {
            let next = path(of: part)
            do throws(SystemError) {
                try FileSystem.move("\(folder)/\(name)", to: "\(next)/\(name)")
            } catch {
                _ = try? FileSystem.removeIfPresent("\(folder)/\(name)")  // the first fault is the one to report
                if error.isOutOfSpace { return }
                if error.errno == EXDEV {
                    throw SpoolError(
                        .wrongFilesystem,
                        path: next,
                        errnoCode: error.errno,
                        detail: "files cannot be renamed from \(folder) into this folder; a spool must be on one mount"
                    )
                }
                throw refusal(error, in: next)
            }
            folder = next
        }
        do throws(SystemError) {
            try FileSystem.remove("\(folder)/\(name)")
        } catch {
            throw refusal(error, in: folder)
        }
        try checkGroups()
    }

    /// Held while something is made in the root that only one process at a time may make.
    private func rootLock() throws(SpoolError) -> FileHolder {
        do throws(SystemError) {
            let holder = FileHolder(try File(opening: root, O_RDONLY | O_DIRECTORY))
            try holder.file.lock()
            return holder
        } catch {
            throw refusal(error, in: root)
        }
    }

    /// A folder that does not hand its group on, and is not of this process's group, gets files that others can't read.
    private func checkGroups() throws(SpoolError) {
        for part in Part.allCases {
            let path = path(of: part)
            let status = try Self.stopping { () throws(SystemError) in try FileStatus(of: path) }
            if status.mode & S_ISGID == 0 && status.group != getegid() {
                throw SpoolError(
                    .permission,
                    path: path,
                    detail:
                        "mode \(Self.octal(status.mode)) and group \(status.group): files made here would get group "
                        + "\(getegid()) and be closed to the others; use mode 2770"
                )
            }
        }
    }

    /// A refused call on `folder`, with everything an operator needs to see why.
    private func refusal(_ error: SystemError, in folder: String) -> SpoolError {
        var result = SpoolError(error, disposition: .stop)
        guard result.code == .permission, let status = try? FileStatus(of: folder) else { return result }  // gone
        result.path = folder
        result.detail =
            "\(error.call) failed: \(error.reason); the folder has mode \(Self.octal(status.mode)), owner \(status.owner) "
            + "and group \(status.group), this process runs as \(geteuid()):\(getegid())"
        return result
    }

    private static func octal(_ mode: mode_t) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}

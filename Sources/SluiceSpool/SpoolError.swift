// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// What went wrong in the spool, where, and what to do next.
package struct SpoolError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault; its raw value is the metric label.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// A system call failed for another reason than those below.
        case io = "io"
        /// The disk or the quota is full, or a limit of the configuration is reached.
        case outOfSpace = "out_of_space"
        /// A system call was refused for rights or modes.
        case permission = "permission"
        /// A name that must be free is taken.
        case nameTaken = "name_taken"
        /// Somebody else holds the lock.
        case locked = "locked"
        /// The lock's path names another file than the one that is held, or nothing.
        case lockLost = "lock_lost"
        /// A segment or the spool was written by a later version.
        case unsupportedVersion = "unsupported_version"
        /// The folder or the file is not what its name says.
        case notASpool = "not_a_spool"
        /// The spool's folders are on more than one filesystem, or on one that is not local.
        case wrongFilesystem = "wrong_filesystem"
        /// Bytes that do not verify.
        case damaged = "damaged"
        /// A file or a record is larger than this version takes.
        case tooLarge = "too_large"
        /// The writer or the file is closed.
        case closed = "closed"
        /// A commit takes too long; its records may still be delivered.
        case stalled = "stalled"
        /// More waits to be written than memory is set aside for.
        case overloaded = "overloaded"
    }

    /// What the caller does about it.
    package enum Disposition: String, Hashable, Sendable {
        /// Nothing was taken; the same may succeed later.
        case retry
        /// Put this one file aside and go on with the rest.
        case setAside = "set_aside"
        /// Leave this one file where it is and go on with the rest.
        case leaveAlone = "leave_alone"
        /// An operator has to act; end the program with the exit code for configuration.
        case stop
    }

    package var code: Code
    package var path: String
    /// Where in the file, when that is known.
    package var byteOffset: Int?
    package var errnoCode: Int32?
    /// The system call's name, or what was found; part of the sentence.
    package var detail: String
    package var disposition: Disposition

    /// Describes a fault.
    ///
    /// `detail` is the end of the sentence that begins with path and offset, without a full stop; `disposition` nil takes
    /// the usual one of `code`.
    package init(
        _ code: Code,
        path: String,
        byteOffset: Int? = nil,
        errnoCode: Int32? = nil,
        detail: String,
        disposition: Disposition? = nil
    ) {
        self.code = code
        self.path = path
        self.byteOffset = byteOffset
        self.errnoCode = errnoCode
        self.detail = detail
        self.disposition = disposition ?? code.usualDisposition
    }

    /// Takes over a failed system call.
    package init(_ error: SystemError, byteOffset: Int? = nil, disposition: Disposition? = nil) {
        let code: Code =
            switch error.errno {
            case ENOSPC, EDQUOT: .outOfSpace
            case EACCES, EPERM, EROFS: .permission
            case EEXIST: .nameTaken
            default: .io
            }
        self.init(
            code,
            path: error.path,
            byteOffset: byteOffset,
            errnoCode: error.errno,
            detail: "\(error.call) failed: \(error.reason)",
            disposition: disposition
        )
    }

    /// What an operator can do about a failed system call; nil where that depends.
    package var advice: String? {
        switch errnoCode {
        case ENOSPC: "make room on the filesystem"
        case EDQUOT: "make room, or raise the quota"
        case EROFS: "the filesystem is read-only, perhaps since a fault: see the kernel's log, then mount it writable"
        case EIO: "the disk fails: see the kernel's log"
        case EMFILE: "raise the limit of open files (LimitNOFILE, ulimit -n)"
        case ENFILE: "raise the system's limit of open files (fs.file-max)"
        case EACCES, EPERM: "endpoint and relay need modes 2770 and 0660 and a group that both are in"
        default: nil
        }
    }

    /// A sentence with path and offset, and what to do about it.
    package var description: String {
        let place = byteOffset.map { " at byte \($0)" } ?? ""
        return "\(path)\(place): \(detail)" + (advice.map { "; \($0)" } ?? "")
    }
}

extension SpoolError.Code {
    var usualDisposition: SpoolError.Disposition {
        switch self {
        case .io, .outOfSpace, .locked, .closed, .stalled, .overloaded: .retry
        case .damaged, .tooLarge: .setAside
        case .unsupportedVersion, .nameTaken: .leaveAlone
        case .permission, .lockLost, .notASpool, .wrongFilesystem: .stop
        }
    }
}

/// Runs `body` and turns a failed system call into a `SpoolError`.
@inline(__always)
func spoolCall<Result: ~Copyable>(
    byteOffset: Int? = nil,
    _ body: () throws(SystemError) -> Result
) throws(SpoolError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch {
        throw SpoolError(error, byteOffset: byteOffset)
    }
}

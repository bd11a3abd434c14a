// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// A name in the spool's folders that is left alone, and why.
package struct IgnoredFile: Hashable, Sendable, CustomStringConvertible {
    package enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The name is not a segment's.
        case foreignName = "foreign_name"
        case symbolicLink = "symbolic_link"
        case folder = "folder"
        /// A FIFO, a socket or a device.
        case specialFile = "special_file"
        /// The file has more than one name; to move or remove this one may surprise the owner of the others.
        case hardLink = "hard_link"
        /// A segment of a later version of the format.
        case laterVersion = "later_version"
        /// The file can't be opened or read.
        case unreadable = "unreadable"
    }

    /// Bytes that are not UTF-8 come repaired.
    package var path: String
    package var reason: Reason
    /// What failed, and what to do about it.
    package var cause: SpoolError?

    package init(path: String, reason: Reason, cause: SpoolError? = nil) {
        self.path = path
        self.reason = reason
        self.cause = cause
    }

    package var description: String {
        "\(path): left alone (\(reason.rawValue))" + (cause.map { ": \($0)" } ?? "")
    }
}

extension FileStatus {
    /// Why a file of a segment's name is not taken for one; nil when it is taken.
    var reasonToIgnore: IgnoredFile.Reason? {
        if isLink { return .symbolicLink }
        if isFolder { return .folder }
        if !isRegularFile { return .specialFile }
        return links > 1 ? .hardLink : nil
    }
}

/// Names that were left alone, each told once.
struct IgnoredFiles: Sendable {
    /// Names that are remembered; a folder with more of them tells the rest again.
    private static let limit = 100_000

    private var known: Set<UInt64> = []
    private var untold: [IgnoredFile] = []
    /// How many there were, each counted once.
    private(set) var count = 0

    /// Notes `name`, unless it was noted before.
    mutating func note(
        _ name: UnsafeRawBufferPointer,
        in folder: String,
        reason: IgnoredFile.Reason,
        cause: SpoolError? = nil
    ) {
        guard known.count < Self.limit, known.insert(Checksum.xxh3(name)).inserted else { return }
        count += 1
        let path = "\(folder)/\(String(decoding: name, as: UTF8.self))"
        untold.append(IgnoredFile(path: path, reason: reason, cause: cause))
    }

    mutating func note(_ name: String, in folder: String, reason: IgnoredFile.Reason, cause: SpoolError? = nil) {
        var name = name
        name.withUTF8 { note(UnsafeRawBufferPointer($0), in: folder, reason: reason, cause: cause) }
    }

    /// What was noted since the last call.
    mutating func takeUntold() -> [IgnoredFile] {
        defer { untold = [] }
        return untold
    }
}

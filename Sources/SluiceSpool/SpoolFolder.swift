// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// Where a spool's folders and files are.
///
/// The root may be a symbolic link, so that `/var/lib/sluice` can point to a mounted volume; it is resolved once, when
/// the spool is opened. Inside the spool no link is ever followed.
package struct SpoolFolder: Hashable, Sendable {
    /// What a program does in the spool.
    package enum Role: Sendable {
        /// Puts segments in, as the endpoint and `import` do.
        case writer
        /// Takes segments out.
        case relay
        /// Only looks: nothing is made, moved or removed.
        case reader
    }

    package enum Part: String, CaseIterable, Sendable {
        case incoming, ready, claimed, progress, quarantine
    }

    /// Version of the layout that this program reads and writes.
    package static let version = 1
    /// Modes of everything in a spool, whatever the umask; the folders hand their group on.
    package static let folderMode: UInt32 = 0o2770
    package static let fileMode: UInt32 = 0o660

    /// Absolute and without links.
    package let root: String

    init(root: String) { self.root = root }

    package func path(of part: Part) -> String { "\(root)/\(part.rawValue)" }

    package var incoming: String { path(of: .incoming) }
    package var ready: String { path(of: .ready) }
    package var claimed: String { path(of: .claimed) }
    package var progress: String { path(of: .progress) }
    package var quarantine: String { path(of: .quarantine) }
    package var format: String { "\(root)/FORMAT" }
    package var ledger: String { "\(root)/ledger" }
    package var gate: String { "\(root)/gate" }
    package var duplicates: String { "\(root)/duplicates" }
    package var erased: String { "\(root)/erased" }

    /// A segment that is being written.
    package func incoming(_ segment: SegmentName) -> String { "\(incoming)/\(segment.openFileName)" }
    /// A sealed segment that nobody has claimed.
    package func ready(_ segment: SegmentName) -> String { "\(ready)/\(segment.sealedFileName)" }
    /// A segment that `worker` has claimed.
    package func claimed(_ segment: SegmentName, by worker: String) -> String {
        "\(claimed)/\(worker)/\(segment.sealedFileName)"
    }
    package func progress(_ segment: SegmentName) -> String { "\(progress)/\(segment.text)" }
    package func quarantine(_ file: SegmentName) -> String { "\(quarantine)/\(file.sealedFileName)" }
    /// The bytes of `segment` that could not be read, each at the offset where it stood.
    package func damaged(_ segment: SegmentName) -> String { "\(quarantine)/\(segment.text).damaged" }

    /// Opens the spool at `root` and proves that this process can work in it.
    ///
    /// FORMAT is looked at first: when it names another version, nothing is touched.
    ///
    /// * `create`: whether a spool that is not there is made; its parent must exist.
    /// * `role`: readers neither make nor probe anything.
    ///
    /// Throws errors whose disposition is `stop`, all of which name a path, its mode where that is the fault, and
    /// what to do.
    package static func open(
        _ root: String,
        create: Bool = true,
        role: Role
    ) throws(SpoolError) -> SpoolFolder {
        let mayCreate = create && role != .reader
        var isNew = false
        if mayCreate {
            isNew = try stopping { () throws(SystemError) in try FileSystem.makeFolder(root) }
        }
        let spool: SpoolFolder
        do throws(SystemError) {
            spool = SpoolFolder(root: try FileSystem.resolvedPath(root))
        } catch {
            if error.errno == ENOENT && !mayCreate { throw absent(root, "no such folder") }
            throw SpoolError(error, disposition: .stop)
        }
        let hasFormat = try spool.checkFormat()
        if !hasFormat && !mayCreate { throw absent(spool.root, "no file FORMAT") }
        try spool.checkFilesystem()
        if role != .reader { try spool.makeParts() }
        try spool.checkParts()
        if !hasFormat { try spool.writeFormat() }
        if role != .reader {
            try spool.syncNames(isNew: isNew)
            try spool.probe()
        }
        return spool
    }

    /// Makes the spool and the folders and files in its root durable, whoever made them: that process may have been
    /// killed before it came to it.
    private func syncNames(isNew: Bool) throws(SpoolError) {
        try Self.stopping { () throws(SystemError) in try FileSystem.syncFolder(root) }
        let parent = "/" + root.split(separator: "/").dropLast().joined(separator: "/")
        do throws(SystemError) {
            try FileSystem.syncFolder(parent)
        } catch {
            // A folder that must not be read, as some parents are, can only be trusted.
            if isNew || error.errno != EACCES { throw SpoolError(error, disposition: .stop) }
        }
    }

    private static func absent(_ path: String, _ sign: String) -> SpoolError {
        SpoolError(
            .notASpool,
            path: path,
            detail: "there is no spool here (\(sign)); run the endpoint or an import once, or name another folder"
        )
    }

    /// Runs `body`; whatever fails, an operator has to look at it.
    static func stopping<Result>(_ body: () throws(SystemError) -> Result) throws(SpoolError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw SpoolError(error, disposition: .stop)
        }
    }
}

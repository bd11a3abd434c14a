// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// The file `progress/<segment>`: which records of a claimed segment are resolved, so that nobody sends them again.
///
/// One writer at a time, the claim's holder; the file does not move with the segment. Entries are appended with one
/// write; `sync` is separate, for a process that is killed loses nothing that was written.
///
/// A run with the outcome `quarantined` may be appended only after its entries were synced in quarantine, else a loss
/// of power may leave the note without the record.
package final class Progress {
    package let path: String
    /// Whether the file was there when it was opened: the segment was worked on before, and may have entries in quarantine.
    package let isPresent: Bool
    /// What the file held when it was opened.
    package let resolved: ResolvedRecords
    /// Bytes that belong to no valid entry, such as a torn write's.
    package let ignoredBytes: Int
    private let spool: SpoolFolder
    private let seed: UInt64
    private var file: FileHolder?
    /// Bytes of whole entries in the file.
    private var size: Int
    private var isNameSynced = false
    private var buffer = ByteBuffer(capacity: ProgressEntry.size * 16)

    /// The file is made by the first `append`.
    package init(of segment: SegmentName, in spool: SpoolFolder) throws(SpoolError) {
        self.spool = spool
        path = spool.progress(segment)
        seed = segment.progressSeed
        let read = try Self.read(path, seed: seed)
        isPresent = read.isPresent
        resolved = read.resolved
        ignoredBytes = read.ignoredBytes
        size = read.size
    }

    /// What is resolved of a segment, without opening it for writing; empty when there is no file.
    package static func resolved(of segment: SegmentName, in spool: SpoolFolder) throws(SpoolError) -> ResolvedRecords {
        try read(spool.progress(segment), seed: segment.progressSeed).resolved
    }

    /// Removes the progress of segments that are finished and gone, as a kill between the two removals leaves it; at a
    /// relay's start.
    ///
    /// - Returns: how many files were removed.
    @discardableResult
    package static func removeOrphans(in spool: SpoolFolder, ledger: Ledger) throws(SpoolError) -> Int {
        let names = try spoolCall { () throws(SystemError) in try FileSystem.names(in: spool.progress) }
        let segments = names.compactMap { SegmentName(parsing: $0) }
        guard !segments.isEmpty else { return 0 }
        // In this order: a segment with progress was sealed before, and is open in the ledger until it is finished.
        let onDisk = try spoolCall { () throws(SystemError) in try SpoolListing(of: spool).entries }
        let open = try ledger.book().open
        var count = 0
        for segment in segments where onDisk[segment] == nil && open[segment] == nil {
            // What is no file of ours stays, and one that cannot be removed stops nobody.
            let path = spool.progress(segment)
            guard let status = try? FileStatus(of: path), status.reasonToIgnore == nil else { continue }
            if (try? FileSystem.removeIfPresent(path)) == true { count += 1 }
        }
        return count
    }

    /// Makes sure that there is a file, and that its name is durable; before the first entry of the segment in
    /// quarantine, so that whoever claims the segment next knows that there may be one.
    static func announce(_ segment: SegmentName, in spool: SpoolFolder) throws(SystemError) {
        do throws(SystemError) {
            _ = try File(
                opening: spool.progress(segment),
                O_WRONLY | O_CREAT | O_EXCL,
                mode: SpoolFolder.fileMode
            )
        } catch {
            guard error.errno == EEXIST else { throw error }
        }
        try FileSystem.syncFolder(spool.progress)
    }

    private struct Content {
        var isPresent = false
        var resolved = ResolvedRecords()
        var ignoredBytes = 0
        var size = 0
    }

    private static func read(_ path: String, seed: UInt64) throws(SpoolError) -> Content {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(of: path, limit: 1 << 30)
        } catch {
            if error.errno == ENOENT { return Content() }
            throw SpoolError(error)
        }
        var content = Content(isPresent: true)
        content.size = bytes.count
        var entries: [ProgressEntry] = []
        entries.reserveCapacity(bytes.count / ProgressEntry.size)
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                if let entry = ProgressEntry(bytes: UnsafeRawBufferPointer(rebasing: bytes[offset...]), seed: seed) {
                    entries.append(entry)
                    offset += ProgressEntry.size
                } else {
                    // Entries after a torn write stand at any offset.
                    content.ignoredBytes += 1
                    offset += 1
                }
            }
        }
        content.resolved = ResolvedRecords(entries)
        return content
    }

    /// Appends entries with one write.
    ///
    /// - Throws: when the disk is full, for example; then none of them counts as written, and the caller keeps them and
    ///   tries again later. Should a part be in the file after all, writing it twice does no harm.
    package func append(_ entries: some Sequence<ProgressEntry>) throws(SpoolError) {
        buffer.removeAll()
        for entry in entries { entry.append(to: &buffer, seed: seed) }
        guard !buffer.isEmpty else { return }
        do throws(SystemError) {
            let file = try opened()
            do throws(SystemError) {
                try file.file.write(buffer.bytes)
                size += buffer.count
            } catch {
                // Cut a part off again; where that fails, readers find the next whole entry by themselves.
                try? file.file.truncate(to: size)
                throw error
            }
        } catch {
            throw SpoolError(error)
        }
    }

    /// Makes what was appended durable, the first time the file's name too.
    package func sync() throws(SpoolError) {
        guard let file else { return }
        try spoolCall { () throws(SystemError) in
            try file.file.syncData()
            if !isNameSynced {
                try FileSystem.syncFolder(spool.progress)
                isNameSynced = true
            }
        }
    }

    private func opened() throws(SystemError) -> FileHolder {
        if let file { return file }
        let opened: File
        do throws(SystemError) {
            opened = try File(opening: path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode)
        } catch {
            guard error.errno == EEXIST else { throw error }
            opened = try File(opening: path, O_WRONLY | O_APPEND)
        }
        let holder = FileHolder(opened)
        file = holder
        return holder
    }
}

/// An open file that several owners may share.
final class FileHolder: Sendable {
    let file: File

    init(_ file: consuming File) { self.file = file }
}

extension SegmentName {
    /// Entries of one segment's progress never verify for another.
    var progressSeed: UInt64 {
        let fields = (UInt64(millisecondsSince1970).littleEndian, writer.littleEndian, sequence.littleEndian)
        return withUnsafeBytes(of: fields) { Checksum.xxh3($0, seed: 0x7072_6F67) }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// A segment that this process writes: locked before its name shows, growing by whole groups.
///
/// The file begins under a `.new-` name, is locked (`flock`, close-on-exec), gets its header, and is then shown under
/// its name by `show`, or by `finish` once all is durable. The lock is held as long as this object lives. After a
/// failed call nothing more is written or synced: `abandon` tells what to do with the rest.
///
/// Not safe for two threads at once.
package final class SegmentFile {
    package let name: SegmentName
    /// The path that the file has now.
    package private(set) var path: String
    package private(set) var totals = SegmentTotals()
    /// Bytes written, header and count frames included.
    package private(set) var fileBytes = 0
    /// Bytes that a sync has made durable.
    package private(set) var durableBytes = 0
    private let file: File
    private let shownPath: String
    private let encoder: SegmentEncoder

    /// Makes the file under a `.new-` name in `folder`, with its lock and its header.
    ///
    /// `fileName` is the name it gets when it is shown. `reserving` bytes of disk must be there before the file counts
    /// as made. An `encoder` may be shared with other files of the same thread; nil makes one.
    package init(
        creating name: SegmentName,
        in folder: String,
        as fileName: String,
        host: String = Host.name,
        createdAt: Int,
        reserving: Int = 0,
        encoder: SegmentEncoder? = nil
    ) throws(SpoolError) {
        self.name = name
        self.encoder = encoder ?? SegmentEncoder()
        shownPath = folder + "/" + fileName
        let made = try Self.make(in: folder, as: fileName)
        file = made
        path = file.path
        do throws(SpoolError) {
            if reserving > 0 {
                _ = try spoolCall { () throws(SystemError) in
                    try file.reserveBehindEnd(from: 0, count: reserving)
                }
            }
            var header = ByteBuffer(capacity: 512)
            SegmentHeader(name: name, host: host, createdAt: createdAt).append(to: &header)
            try write(header.bytes)
        } catch {
            discard()
            throw error
        }
    }

    /// Makes and locks a file that nobody else has in hand.
    private static func make(in folder: String, as fileName: String) throws(SpoolError) -> File {
        var attempt = 0
        while true {
            let suffix = attempt == 0 ? "" : "-\(attempt)"
            let path = folder + "/" + SegmentName.newPrefix + fileName + suffix
            do throws(SystemError) {
                let file = try File(opening: path, O_RDWR | O_CREAT | O_EXCL)
                // Whoever cleans up old `.new-` files may have been quicker with the lock.
                if try file.tryLock() && file.isStillAtItsPath() { return file }
            } catch {
                guard error.errno == EEXIST && attempt < 16 else { throw SpoolError(error) }
            }
            attempt += 1
        }
    }

    // MARK: - Writing

    /// Appends one group: a count frame, and a data frame with whole NDJSON lines.
    ///
    /// - Returns: the data frame's offset.
    @discardableResult
    package func append(
        _ content: UnsafeRawBufferPointer,
        records: Int,
        receivedAt: ClosedRange<Int>
    ) throws(SpoolError) -> Int {
        let offset = fileBytes + CommitFrame.length
        try write(encoder.encode(content, records: records, receivedAt: receivedAt))
        totals.add(records: records, contentBytes: content.count, receivedAt: receivedAt)
        return offset
    }

    /// Appends any number of whole NDJSON lines, in as many groups as it takes.
    ///
    /// - Throws: `tooLarge` when a single line does not fit into a frame; the lines before it are written.
    package func append(lines content: UnsafeRawBufferPointer, receivedAt: ClosedRange<Int>) throws(SpoolError) {
        var rest = content
        while !rest.isEmpty {
            let head = rest.prefix(SegmentEncoder.maximumContentBytes)
            guard let last = head.lastIndex(of: UInt8(ascii: "\n")) else {
                throw SpoolError(.tooLarge, path: path, byteOffset: fileBytes, detail: "a record is longer than 4 MiB")
            }
            let lines = UnsafeRawBufferPointer(rebasing: rest[...last])
            try append(lines, records: lines.lineCount, receivedAt: receivedAt)
            rest = UnsafeRawBufferPointer(rebasing: rest[(last + 1)...])
        }
    }

    /// Appends the footer with the totals.
    package func appendFooter(removedNames: NameTally = NameTally()) throws(SpoolError) {
        let footer = SegmentFooter(
            records: totals.records,
            frames: totals.frames,
            contentBytes: totals.contentBytes,
            fileBytes: fileBytes,
            receivedAt: totals.receivedAt ?? 0...0,
            removedNames: removedNames
        )
        var bytes = ByteBuffer(capacity: 512)
        footer.append(to: &bytes)
        try write(bytes.bytes)
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(SpoolError) {
        try spoolCall(byteOffset: fileBytes) { () throws(SystemError) in try file.write(bytes) }
        fileBytes += bytes.count
    }

    /// Makes the content durable, `fdatasync`; once it failed, the file must never be synced again.
    package func syncData() throws(SpoolError) {
        try spoolCall(byteOffset: durableBytes) { () throws(SystemError) in try file.syncData() }
        durableBytes = fileBytes
    }

    /// Makes content and attributes durable, `fsync`; once it failed, the file must never be synced again.
    package func sync() throws(SpoolError) {
        try spoolCall(byteOffset: durableBytes) { () throws(SystemError) in try file.sync() }
        durableBytes = fileBytes
    }

    // MARK: - Names

    /// Shows the file under its name; the folder is not synced yet.
    package func show() throws(SpoolError) { try move(to: shownPath) }

    /// Moves the file to a free path on the same filesystem; no folder is synced.
    package func move(to target: String) throws(SpoolError) {
        try spoolCall { () throws(SystemError) in try FileSystem.move(path, to: target) }
        path = target
    }

    /// Seals the file: footer, `fsync`, its name in place, folder synced.
    package func finish(footer: Bool = true) throws(SpoolError) {
        if footer { try appendFooter() }
        try releaseSpareRoom()
        try sync()
        if !path.isSameText(as: shownPath) { try show() }
        let folder = String(shownPath[..<(shownPath.lastIndex(of: "/") ?? shownPath.startIndex)])
        try spoolCall { () throws(SystemError) in try FileSystem.syncFolder(folder) }
    }

    /// Gives back disk that was reserved and not needed.
    package func releaseSpareRoom() throws(SpoolError) {
        try spoolCall { () throws(SystemError) in try file.truncate(to: fileBytes) }
    }

    /// Cuts away what was written since the last successful sync; the file stays unsynced.
    package func cutToDurable() throws(SpoolError) {
        try spoolCall(byteOffset: durableBytes) { () throws(SystemError) in try file.truncate(to: durableBytes) }
        fileBytes = durableBytes
    }

    /// Removes the file if its path still names it.
    package func discard() {
        // A file that is left behind under a `.new-` name is cleaned up by the next recovery.
        if isAtItsPath { _ = try? FileSystem.removeIfPresent(path) }
    }

    /// Whether the path still names this very file: a removed spool must not be written into.
    package var isAtItsPath: Bool {
        guard let here = try? file.status(), let there = try? FileStatus(of: path) else { return false }  // gone
        return here.identity == there.identity
    }
}

extension UnsafeRawBufferPointer {
    /// Lines, a last one without line feed included.
    package var lineCount: Int {
        var lines = 0
        for byte in self where byte == UInt8(ascii: "\n") { lines += 1 }
        return isEmpty || last == UInt8(ascii: "\n") ? lines : lines + 1
    }
}

extension String {
    func isSameText(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceJSON
internal import SluiceSystem

/// Reads the folder `quarantine/`.
package struct QuarantineFolder: Sendable {
    /// A file with entries.
    package struct File: Hashable, Sendable {
        package var name: SegmentName
        package var path: String
    }

    /// How reading a file went.
    package struct Reading: Hashable, Sendable {
        /// Lines that are no entries.
        package var invalidLines = 0
        /// Ranges of the file that cannot be read.
        package var damagedRanges = 0
        /// The file ends in the middle of a frame, as after a crash: what was in it counts as never put here.
        package var hasTornTail = false

        package init() {}

        /// Whether everything in it was seen.
        package var isWhole: Bool { invalidLines == 0 && damagedRanges == 0 }
    }

    package static let lockName = "lock"
    package static let damagedSuffix = ".damaged"

    package let spool: SpoolFolder

    package init(of spool: SpoolFolder) { self.spool = spool }

    /// The files whose entries count, oldest first.
    ///
    /// A file that a replay or a discard has taken apart, as the ledger says, is left out even if it is still there;
    /// what remained of it is in even if it is not in place yet.
    ///
    /// * `book`: the ledger, read before or after; a move between the two shows as a file that is gone.
    package func files(_ book: LedgerBook) throws(SpoolError) -> [File] { try listing(book).files }

    /// The same, with the links, folders and special files that have a segment's name: nobody reads those.
    func listing(_ book: LedgerBook) throws(SpoolError) -> (files: [File], ignored: [IgnoredFile]) {
        let moves = Dictionary(book.moves.map { ($0.source, $0) }) { first, _ in first }
        var hiddenRests: Set<SegmentName> = []
        for move in book.moves { if let rest = move.rest { hiddenRests.insert(rest) } }
        var files: [File] = []
        var ignored: [IgnoredFile] = []
        try spoolCall { () throws(SystemError) in
            try FileSystem.forEachFile(in: spool.quarantine) { name, status in
                if let segment = SegmentName(bytes: name, suffix: ".ndjson.lz4") {
                    if let reason = status.reasonToIgnore, reason != .hardLink {
                        ignored.append(IgnoredFile(path: spool.quarantine(segment), reason: reason))
                    } else if moves[segment] == nil {
                        files.append(File(name: segment, path: spool.quarantine(segment)))
                    }
                } else if name.starts(with: SegmentName.newPrefix.utf8) {
                    let rest = UnsafeRawBufferPointer(rebasing: name[SegmentName.newPrefix.utf8.count...])
                    guard let segment = SegmentName(bytes: rest, suffix: ".ndjson.lz4"), hiddenRests.contains(segment)
                    else { return }
                    files.append(File(name: segment, path: "\(spool.quarantine)/\(segment.hiddenFileName)"))
                }
            }
        }
        // A file that came into place while the folder was read may show under both names.
        var seen: Set<SegmentName> = []
        return (files.sorted { $0.name < $1.name }.filter { seen.insert($0.name).inserted }, ignored)
    }

    /// The files of a segment's claims, in place and not locked by anybody else who writes them.
    package func files(ofClaim segment: SegmentName) throws(SpoolError) -> [File] {
        let writer = segment.quarantineWriter
        var files: [File] = []
        try spoolCall { () throws(SystemError) in
            try FileSystem.forEachFile(in: spool.quarantine) { name, status in
                guard let file = SegmentName(bytes: name, suffix: ".ndjson.lz4"), file.writer == writer,
                    status.isRegularFile
                else { return }
                files.append(File(name: file, path: spool.quarantine(file)))
            }
        }
        return files.sorted { $0.name < $1.name }
    }

    /// Calls `body` with every entry of a file.
    ///
    /// * `invalid`: is given the lines that are no entries.
    @discardableResult
    package func read(
        _ file: File,
        parser: JSONParser? = nil,
        invalid: (UnsafeRawBufferPointer) -> Void = { _ in },
        _ body: (QuarantineItem) throws(SpoolError) -> Void
    ) throws(SpoolError) -> Reading {
        let parser = parser ?? JSONParser(maximumBytes: SegmentReader.maximumContentBytes, maximumDepth: 256)
        let reader = try SegmentReader(opening: file.path)
        var reading = Reading()
        var buffer = ByteBuffer()
        while true {
            switch try reader.next(into: &buffer) {
            case .frame:
                for line in Lines(buffer.bytes) {
                    // Whatever is wrong with it, it is no entry.
                    if let document = try? parser.parse(line),
                        let item = QuarantineItem(file: file.name, line: line, document: document)
                    {
                        try body(item)
                    } else {
                        reading.invalidLines += 1
                        invalid(line)
                    }
                }
            case .damaged: reading.damagedRanges += 1
            case .tornTail: reading.hasTornTail = true
            case .end: return reading
            }
        }
    }

    /// Bytes that the folder takes on disk.
    package func allocatedBytes() throws(SpoolError) -> Int {
        try spoolCall { () throws(SystemError) in
            var paths: [String] = []
            try FileSystem.forEachName(in: spool.quarantine) { name in
                paths.append("\(spool.quarantine)/\(String(decoding: name, as: UTF8.self))")
            }
            var sum = 0
            for path in paths { sum += (try? FileStatus(of: path).allocated) ?? 0 }  // gone meanwhile: no bytes
            return sum
        }
    }
}

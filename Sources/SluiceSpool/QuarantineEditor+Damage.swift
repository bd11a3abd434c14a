// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceJSON
internal import SluiceSystem

/// The files `quarantine/<segment>.damaged` beside their entries.
extension QuarantineEditor {
    /// Removes the bytes of damaged ranges that no entry speaks of any more.
    func removeUnneededBytes(parser: JSONParser) throws(SpoolError) {
        let segments = try QuarantineFolder(of: spool).damagedSegments()
        guard !segments.isEmpty else { return }
        let book = try ledger.book()
        let needed = try coveredBytes(parser: parser, book)
        for segment in segments where book.open[segment] == nil {
            // Of a segment that is not finished, the entry may come after the bytes.
            try spoolCall { () throws(SystemError) in
                guard let covered = needed[segment] else {
                    try FileSystem.removeIfPresent(spool.damaged(segment))
                    return
                }
                try clear(spool.damaged(segment), except: covered)
            }
        }
        try spoolCall { () throws(SystemError) in try FileSystem.syncFolder(spool.quarantine) }
    }

    /// The ranges that entries speak of, by the segment whose bytes they are.
    func coveredBytes(
        parser: JSONParser,
        _ book: LedgerBook
    ) throws(SpoolError) -> [SegmentName: RangeSet<Int>] {
        var covered: [SegmentName: RangeSet<Int>] = [:]
        let folder = QuarantineFolder(of: spool)
        for file in try folder.files(book) {
            try folder.read(file, parser: parser) { (item) throws(SpoolError) in
                guard item.recordToken == nil, let damage = item.entry.damage else { return }
                let range = damage.offset..<damage.offset + max(0, damage.length)
                covered[item.origin.segment, default: RangeSet()].insert(contentsOf: range)
            }
        }
        return covered
    }

    private func clear(_ path: String, except covered: RangeSet<Int>) throws(SystemError) {
        let file: File
        do throws(SystemError) {
            file = try File(opening: path, O_RDWR)
        } catch {
            if error.errno == ENOENT { return }
            throw error
        }
        var rest = RangeSet(0..<max(1, try file.status().size))
        rest.subtract(covered)
        var hasChanged = false
        var buffer = ByteBuffer(capacity: 1 << 20)
        for range in rest.ranges where try hasContent(file, range, &buffer) {
            try file.clear(from: range.lowerBound, count: range.count)
            hasChanged = true
        }
        if hasChanged { try file.sync() }
    }

    private func hasContent(
        _ file: borrowing File,
        _ range: Range<Int>,
        _ buffer: inout ByteBuffer
    ) throws(SystemError) -> Bool {
        var offset = range.lowerBound
        while offset < range.upperBound {
            buffer.removeAll()
            try file.append(to: &buffer, at: offset, upTo: min(1 << 20, range.upperBound - offset))
            if buffer.isEmpty { return false }
            if buffer.bytes.contains(where: { $0 != 0 }) { return true }
            offset += buffer.count
        }
        return false
    }
}

extension QuarantineFolder {
    /// Segments of which bytes that could not be read are kept.
    func damagedSegments() throws(SpoolError) -> [SegmentName] {
        let suffix = Self.damagedSuffix
        return try spoolCall { () throws(SystemError) in
            try FileSystem.names(in: spool.quarantine).compactMap { name in
                guard name.utf8.count > suffix.utf8.count,
                    name.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
                else { return nil }
                return SegmentName(parsing: name.dropLast(suffix.count))
            }
        }
    }
}

extension File {
    /// Appends up to `limit` bytes from `offset` on; fewer only at the end of the file.
    func append(to buffer: inout ByteBuffer, at offset: Int, upTo limit: Int) throws(SystemError) {
        var failure: SystemError?
        buffer.append(upTo: limit) { room in
            do throws(SystemError) {
                return try read(into: room, at: offset)
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
    }
}

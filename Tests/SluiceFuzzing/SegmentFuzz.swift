// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

/// Every byte of a file is in a frame of Sluice's that verifies, in a delivered group or in a reported range; whole groups
/// come out whole, whatever stands around them; what is lost adds up.
///
/// The first byte says what the rest is: 0, a file; 1, a file whose checksums are made right; else a `SegmentScript`.
final class SegmentFuzz {
    private struct Reading {
        struct Piece: Equatable {
            var item: SegmentReader.Item
            var content: [UInt8]
        }

        var pieces: [Piece] = []
        var footer: SegmentFooter?
        var readable = 0
        var declared = 0
        var damage = SegmentDamage()
    }

    private let folder = TemporaryFolder()
    private let spool: ScratchSpool

    init() {
        do { spool = try ScratchSpool() } catch { fatalError("no spool: \(error)") }
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        switch input.first {
        case nil: return
        case 0: try check(Array(input.dropFirst()), nil)
        case 1: try check(SegmentScript.signed(Array(input.dropFirst())), nil)
        default:
            let script = SegmentScript(input.from(1))
            try check(script.bytes, script)
        }
    }

    private func check(_ bytes: [UInt8], _ script: SegmentScript?) throws {
        let path = folder.path("segment")
        try FileSystem.removeIfPresent(path)
        let file = try File(opening: path, O_WRONLY | O_CREAT | O_EXCL)
        try bytes.withUnsafeBytes { try file.write($0) }
        do throws(SpoolError) {
            _ = try SegmentReader(opening: path)
        } catch {
            try hold(error.code == .unsupportedVersion, "the reader says \(error)")
            return
        }
        let reading = try read(path)
        try checkCover(reading, bytes)
        if let script, script.isOwn { try checkGroups(reading, script) }
        try checkSummary(reading, path, bytes.count, isHonest: script?.isHonest ?? false)
        try checkDamage(reading, path, bytes)
    }

    private func read(_ path: String) throws -> Reading {
        let reader = try SegmentReader(opening: path)
        var reading = Reading()
        var buffer = ByteBuffer()
        while true {
            let item = try reader.next(into: &buffer)
            var content: [UInt8] = []
            switch item {
            case .frame(_, _, let records):
                content = Array(buffer.bytes)
                reading.readable += buffer.bytes.lineCount
                reading.declared += records ?? buffer.bytes.lineCount
            case .damaged(let offset, let length, let records):
                reading.damage.addDamage(offset: offset, length: length, declaredRecords: records)
                reading.declared += records ?? 0
            case .tornTail(let offset, let length, _):
                reading.damage.addTornTail(offset: offset, length: length)
            case .end(let footer):
                reading.footer = footer
                try hold(buffer.isEmpty && reader.next(into: &buffer) == item, "reading ends only once")
                return reading
            }
            if content.isEmpty { try hold(buffer.isEmpty, "bytes of something that cannot be read") }
            reading.pieces.append(Reading.Piece(item: item, content: content))
            try hold(reading.pieces.count <= reader.fileBytes, "reading does not end")
        }
    }

    // MARK: - Every byte

    private func checkCover(_ reading: Reading, _ bytes: [UInt8]) throws {
        var covered = 0
        for piece in reading.pieces {
            let range: Range<Int>
            switch piece.item {
            case .frame(let offset, let length, _), .damaged(let offset, let length, _):
                try hold(length > 0, "an empty piece")
                range = offset..<offset + length
            case .tornTail(let offset, let length, _):
                range = offset..<offset + length
                try hold(range.upperBound == bytes.count && length > 0, "a torn tail inside the file")
            case .end: return
            }
            try hold(range.lowerBound >= covered && range.upperBound <= bytes.count, "\(range) overlaps")
            try checkOwn(bytes[covered..<range.lowerBound])
            covered = range.upperBound
        }
        try checkOwn(bytes[covered...])
    }

    /// What is not reported are whole frames of Sluice's.
    private func checkOwn(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            let length = try need(
                SegmentScript.ownFrameLength(in: rest),
                "\(rest.indices) is neither delivered nor reported nor a frame that verifies"
            )
            rest = rest.dropFirst(length)
        }
    }

    /// Groups that are whole come out in their order.
    private func checkGroups(_ reading: Reading, _ script: SegmentScript) throws {
        var rest = reading.pieces[...]
        for group in script.groups {
            let index = try need(
                rest.firstIndex { piece in
                    guard case .frame(let offset, let length, let records) = piece.item else { return false }
                    return offset == group.range.lowerBound + SegmentScript.countBytes
                        && offset + length == group.range.upperBound
                        && records == group.records && piece.content == group.content
                },
                "the whole group at \(group.range) does not come out"
            )
            rest = rest[(index + 1)...]
        }
    }

    // MARK: - What it comes to

    private func checkSummary(_ reading: Reading, _ path: String, _ size: Int, isHonest: Bool) throws {
        let summary = try SegmentSummary(of: path)
        try hold(summary.fileBytes == size, "the file's length")
        try hold(summary.totals.records >= 0, "a negative number of records")
        guard !summary.hasFooter else { return }
        if summary.isWhole {
            // The count frames are taken at their word.
            guard isHonest else { return }
            try hold(
                reading.declared == summary.totals.records,
                "\(summary.totals.records) records, \(reading.declared) read"
            )
        } else {
            try hold(!reading.damage.isEmpty, "damage that nobody reports")
        }
    }

    private func checkDamage(_ reading: Reading, _ path: String, _ bytes: [UInt8]) throws {
        for sealed in [nil, 0, reading.readable, reading.readable + 3, reading.declared] {
            let found = reading.damage.assess(
                segment: ScratchSpool.segment,
                sealedRecords: sealed,
                readableRecords: reading.readable,
                fileBytes: bytes.count,
                at: 1_796_000_000
            )
            let entered = found.entries.reduce(0) { $0 + $1.records }
            try hold(
                entered == found.damagedRecords,
                "\(entered) records in the entries, \(found.damagedRecords) damaged"
            )
            if let sealed {
                let missing = max(0, sealed - reading.readable)
                try hold(found.damagedRecords == missing, "\(missing) missing, \(found.damagedRecords) damaged")
            }
            try hold(found.entries.count >= reading.damage.ranges.count, "a range without an entry")
            for entry in found.entries {
                let damage = try need(entry.damage, "an entry that tells no range")
                try hold(damage.offset >= 0 && damage.length >= 0, "a range before the file")
                try hold(damage.offset + damage.length <= bytes.count, "a range behind the file")
            }
        }
        guard !reading.damage.isEmpty else { return }
        let saved = spool.spool.damaged(ScratchSpool.segment)
        try FileSystem.removeIfPresent(saved)
        try reading.damage.saveBytes(from: path, of: ScratchSpool.segment, in: spool.spool)
        let kept = try FileSystem.contents(of: saved, limit: 1 << 24)
        for range in reading.damage.ranges {
            let range = range.offset..<range.offset + range.length
            try hold(range.upperBound <= kept.count && kept[range] == bytes[range], "damaged bytes were not kept")
        }
    }
}

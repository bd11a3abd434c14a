// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// What could not be read of one segment: collected while it is read, entered into quarantine at its end, when it is
/// known how many records were lost.
package struct SegmentDamage: Hashable, Sendable {
    package struct Range: Hashable, Sendable {
        package var offset: Int
        package var length: Int
        package var declaredRecords: Int?
        package var isTornTail: Bool
    }

    package private(set) var ranges: [Range] = []

    package init() {}

    package var isEmpty: Bool { ranges.isEmpty }

    package mutating func addDamage(offset: Int, length: Int, declaredRecords: Int?) {
        ranges.append(Range(offset: offset, length: length, declaredRecords: declaredRecords, isTornTail: false))
    }

    package mutating func addTornTail(offset: Int, length: Int) {
        ranges.append(Range(offset: offset, length: length, declaredRecords: nil, isTornTail: true))
    }

    /// How many records each range has cost.
    package struct Assessment: Hashable, Sendable {
        /// One entry for each range, ready for `QuarantineWriter.append`.
        package var entries: [QuarantineEntry]
        /// Records lost to damage, for the `finished` line.
        package var damagedRecords: Int
        /// Incomplete frames whose records nobody was told were taken.
        package var tornTails: Int
    }

    /// Distributes what is missing over the ranges.
    ///
    /// The number of records that the writer sealed decides; where it did not, what the count frames declare. A torn
    /// tail costs nothing unless sealed records are missing.
    ///
    /// * `sealedRecords`: what the `sealed` line says, if the writer counted it; else nil.
    /// * `readableRecords`: records that could be read, whatever became of them, and those that came to an outcome while
    ///   they still could.
    /// * `resolved`: what an earlier claim has resolved, in the bytes that can no longer be read too.
    /// * `known`: entries about damage that an earlier claim left in quarantine, with their records; they stay as they are.
    /// * `fileBytes`: the segment's length, where what is missing without a trace is entered.
    package func assess(
        segment: SegmentName,
        sealedRecords: Int?,
        readableRecords: Int,
        resolved: ResolvedRecords = ResolvedRecords(),
        known: [RecordOrigin: Int] = [:],
        fileBytes: Int,
        at seconds: Int
    ) -> Assessment {
        var result = Assessment(entries: [], damagedRecords: known.values.reduce(0, +), tornTails: 0)
        let found = ranges.compactMap { range -> Range? in
            if let records = known[origin(of: range, segment)] {
                if range.isTornTail && records == 0 { result.tornTails += 1 }
                return nil
            }
            var range = range
            let bytes = range.offset..<range.offset + range.length
            if let declared = range.declaredRecords {
                range.declaredRecords = max(0, declared - resolved.count(inBytes: bytes))
            }
            return range
        }
        var counted = found
        let declared = found.reduce(0) { $0 + ($1.isTornTail ? 0 : $1.declaredRecords ?? 0) }
        var missing = sealedRecords.map { max(0, $0 - readableRecords - result.damagedRecords) } ?? declared
        for index in counted.indices {
            let records = counted[index].isTornTail ? 0 : min(missing, counted[index].declaredRecords ?? 0)
            counted[index].declaredRecords = records
            missing -= records
        }
        if missing > 0 {
            if counted.isEmpty {
                counted.append(Range(offset: fileBytes, length: 0, declaredRecords: 0, isTornTail: false))
            }
            let unknown = found.lastIndex { $0.isTornTail } ?? found.lastIndex { $0.declaredRecords == nil }
            let index = unknown ?? counted.count - 1
            counted[index].declaredRecords = (counted[index].declaredRecords ?? 0) + missing
            counted[index].isTornTail = false
        }
        for range in counted {
            result.damagedRecords += range.declaredRecords ?? 0
            if range.isTornTail { result.tornTails += 1 }
            result.entries.append(entry(for: range, of: segment, at: seconds))
        }
        return result
    }

    private func origin(of range: Range, _ segment: SegmentName) -> RecordOrigin {
        RecordOrigin(segment: segment, frame: range.offset, index: 0)
    }

    private func entry(for range: Range, of segment: SegmentName, at seconds: Int) -> QuarantineEntry {
        let records = range.declaredRecords ?? 0
        return QuarantineEntry(
            quarantinedAt: seconds,
            reason: range.isTornTail ? QuarantineEntry.tornTailReason : QuarantineEntry.damagedReason,
            detail: range.isTornTail
                ? "the segment ends inside a frame that was never acknowledged"
                : range.length > 0 ? "these bytes do not verify" : "records that were sealed are not in the file",
            origin: origin(of: range, segment),
            damage: QuarantineEntry.Damage(offset: range.offset, length: range.length, records: records)
        )
    }

    /// Keeps the bytes of all ranges in `quarantine/<segment>.damaged`, each at the offset where it stood, durably.
    ///
    /// To do it again after a crash writes the same bytes to the same places.
    ///
    /// * `path`: where the segment is.
    package func saveBytes(from path: String, of segment: SegmentName, in spool: SpoolFolder) throws(SpoolError) {
        guard ranges.contains(where: { $0.length > 0 }) else { return }
        try spoolCall { () throws(SystemError) in
            let source = try File(opening: path, O_RDONLY)
            let target = try Self.opened(spool.damaged(segment))
            var buffer = ByteBuffer(capacity: 1 << 20)
            for range in ranges {
                var offset = range.offset
                let end = range.offset + range.length
                while offset < end {
                    buffer.removeAll()
                    try source.append(to: &buffer, at: offset, upTo: min(1 << 20, end - offset))
                    if buffer.isEmpty { break }
                    try target.write(buffer.bytes, at: offset)
                    offset += buffer.count
                }
            }
            try target.sync()
            try FileSystem.syncFolder(spool.quarantine)
        }
    }

    private static func opened(_ path: String) throws(SystemError) -> File {
        do throws(SystemError) {
            return try File(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: SpoolFolder.fileMode)
        } catch {
            guard error.errno == EEXIST else { throw error }
            return try File(opening: path, O_WRONLY)
        }
    }
}

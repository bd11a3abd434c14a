// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import SluiceJSON
internal import SluiceSystem

/// Forgets persons: lists them for the relays, takes their records out of quarantine, and says what is left.
///
/// The list comes first and is durable before anything else is looked at: from then on no relay sends or quarantines a
/// record of these persons that was received up to that second. Killed at any moment and run again, every record is
/// removed and counted once; each step finds what the one before it has left.
package struct Eraser {
    /// Bytes or a file that could not be searched.
    package struct Gap: Hashable, Sendable {
        package var path: String
        /// nil for the whole file.
        package var bytes: Range<Int>?
        /// What it is and what can be done.
        package var reason: String
    }

    package struct Report: Hashable, Sendable {
        /// Unix seconds: records that were received then or earlier are meant.
        package var until = 0
        /// Records that wait; a relay drops them when it comes to them.
        package var waiting = 0
        /// Records in the claims of relays, not resolved yet; of these a request may be under way.
        package var claimed = 0
        /// Records that are known as delivered, of segments that are not finished yet.
        package var delivered = 0
        /// Records removed from quarantine, those in damaged bytes included.
        package var removed = 0
        /// Those of them that stood in damaged bytes.
        package var removedFromDamage = 0
        /// Records of persons of earlier requests, which no relay had come to yet.
        package var removedEarlier = 0
        /// Other anonymous ids and users in the records that were found.
        package var otherIDs = 0
        /// Files that a relay is still busy with; a relay looks through them later.
        package var busyFiles: [SegmentName] = []
        /// What can only be decided when a relay has come to it: to be searched once more then.
        package var undecided: [Gap] = []
        /// What cannot be searched.
        package var unreachable: [Gap] = []

        package init() {}
    }

    private let editor: QuarantineEditor
    private var spool: SpoolFolder { editor.spool }
    private var ledger: Ledger { editor.ledger }
    private var clock: SystemClock { editor.clock }

    /// * `editor`: takes the records out of quarantine; it brings the spool, its ledger and the clock.
    package init(with editor: QuarantineEditor) {
        self.editor = editor
    }

    /// Forgets these persons.
    ///
    /// * `isDryRun`: searches and counts, and changes nothing.
    /// * `onProgress`: told the records of the spool that were looked at so far.
    ///
    /// Throws `locked` when somebody else edits quarantine; the persons are listed then, and to run it again goes on.
    package func run(
        _ persons: [Person],
        isDryRun: Bool,
        onProgress: (Int) -> Void = { _ in }
    ) throws(SpoolError) -> Report {
        var report = Report()
        // No record that is here already may be younger, even if the clock went back.
        report.until = max(clock.wallSeconds, try ledger.book().newestAt)
        let startedAt = clock.wallSeconds
        let list = ErasureList(in: spool)
        try list.refresh()
        if !isDryRun { try list.add(persons, until: report.until, clock: clock) }
        let search = PersonSearch(persons, until: report.until)
        try searchPending(search, &report, onProgress)
        try searchQuarantine(search, list.book, isDryRun: isDryRun, &report)
        report.otherIDs = search.others.count
        if !isDryRun {
            if report.busyFiles.isEmpty { try list.markSwept(at: startedAt) }
            try list.removeOld(oldestSegmentAt: try oldestSegmentAt(), clock: clock)
        }
        return report
    }

    private func oldestSegmentAt() throws(SpoolError) -> Int? {
        let listing = try spoolCall { () throws(SystemError) in try SpoolListing(of: spool) }
        let open = try ledger.book().open
        return (Array(listing.entries.keys) + Array(open.keys)).min().map { $0.millisecondsSince1970 / 1000 }
    }

    // MARK: Segments

    private func searchPending(
        _ search: PersonSearch,
        _ report: inout Report,
        _ onProgress: (Int) -> Void
    ) throws(SpoolError) {
        var done: Set<SegmentName> = []
        var records = 0
        // A segment that moved on between its name and its content is looked for once more.
        for _ in 0..<3 {
            var isComplete = true
            let listing = try spoolCall { () throws(SystemError) in try SpoolListing(of: spool) }
            let finished = try ledger.book().finished
            for (segment, entry) in listing.entries.sorted(by: { $0.key < $1.key })
            where !done.contains(segment) && !finished.contains(segment) {
                let path = listing.path(of: segment, at: entry.place, in: spool)
                do throws(SpoolError) {
                    var found = Report()
                    try self.search(segment, at: entry.place, path, search, &found) { more in
                        records += more
                        onProgress(records)
                    }
                    report.add(found)
                    done.insert(segment)
                } catch {
                    if error.errnoCode == ENOENT {
                        isComplete = false
                    } else {
                        done.insert(segment)
                        let reason = "cannot be read (\(error.detail)); run this again when it can"
                        report.undecided.append(Gap(path: path, bytes: nil, reason: reason))
                    }
                }
            }
            if isComplete { return }
        }
    }

    private func search(
        _ segment: SegmentName,
        at place: SpoolListing.Place,
        _ path: String,
        _ search: PersonSearch,
        _ report: inout Report,
        _ onFrame: (Int) -> Void
    ) throws(SpoolError) {
        let reader = try SegmentReader(opening: path)
        let resolved = try Progress.resolved(of: segment, in: spool)
        var damage = RangeSet<Int>()
        var hasSuspectLine = false
        var buffer = ByteBuffer()
        reading: while true {
            switch try reader.next(into: &buffer) {
            case .frame(let offset, _, _):
                var index = 0
                for line in buffer.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                    defer { index += 1 }
                    let line = UnsafeRawBufferPointer(rebasing: line)
                    guard let isMeant = search.isMeant(line: line) else {
                        if search.damage.count(in: line) > 0 { hasSuspectLine = true }
                        continue
                    }
                    if isMeant { count(resolved.outcome(frame: offset, index: index), place, &report) }
                }
                onFrame(index)
            case .damaged(let offset, let length, _): damage.insert(contentsOf: offset..<offset + length)
            case .tornTail(let offset, let length, _):
                // What is being written now was received later, or is there when the next one looks.
                if place != .incoming { damage.insert(contentsOf: offset..<offset + length) }
            case .end: break reading
            }
        }
        let later = "; a relay puts it into quarantine: run this again after a drain"
        if hasSuspectLine {
            report.undecided.append(Gap(path: path, bytes: nil, reason: "a line shows the id and is no record\(later)"))
        }
        guard !damage.isEmpty else { return }
        let result = try self.search(path, damage, search)
        guard !result.hits.isEmpty || !result.unsearched.isEmpty else { return }
        let reason = "what cannot be read \(result.hits.isEmpty ? "may hold" : "shows") the id\(later)"
        for range in damage.ranges { report.undecided.append(Gap(path: path, bytes: range, reason: reason)) }
    }

    private func count(_ outcome: Outcome?, _ place: SpoolListing.Place, _ report: inout Report) {
        switch (outcome, place) {
        case (.delivered, _), (.duplicate, _): report.delivered += 1
        case (.some, _): break
        case (nil, .claimed): report.claimed += 1
        case (nil, _): report.waiting += 1
        }
    }

    // MARK: Quarantine

    private func searchQuarantine(
        _ search: PersonSearch,
        _ listed: ErasureBook,
        isDryRun: Bool,
        _ report: inout Report
    ) throws(SpoolError) {
        let damage = try searchDamage(search, &report)
        var (earlier, fromDamage) = (0, 0)
        let result = try editor.run(.erase, isDryRun: isDryRun) { (item, _) throws(SpoolError) in
            if let record = item.recordToken {
                if search.isMeant(item.document, record: record) { return .take }
                guard listed.covers(item.document, record: record) else { return .leave }
                earlier += 1
                return .take
            }
            if item.entry.damage == nil { return search.isMeant(base64: item) ? .take : .leave }
            guard let found = damage[item.origin.segment] else { return .leave }
            let decision = found.decision(on: item)
            switch decision {
            case .take: fromDamage += item.records
            case .rewrite(let taken, _): fromDamage += taken
            default: break
            }
            return decision
        }
        report.removed = result.taken - earlier
        report.removedEarlier = earlier
        report.removedFromDamage = fromDamage
        report.busyFiles = result.busyFiles
        for name in result.damagedFiles {
            let reason = "this quarantine file is damaged and was left; what is in it cannot be told"
            report.unreachable.append(Gap(path: spool.quarantine(name), bytes: nil, reason: reason))
        }
    }

    private func searchDamage(
        _ search: PersonSearch,
        _ report: inout Report
    ) throws(SpoolError) -> [SegmentName: DamageSearch.Result] {
        let segments = try QuarantineFolder(of: spool).damagedSegments()
        guard !segments.isEmpty else { return [:] }
        let parser = JSONParser(maximumBytes: SegmentReader.maximumContentBytes, maximumDepth: 256)
        let covered = try editor.coveredBytes(parser: parser, try ledger.book())
        var results: [SegmentName: DamageSearch.Result] = [:]
        for segment in segments {
            guard let ranges = covered[segment], !ranges.isEmpty else { continue }
            let path = spool.damaged(segment)
            let result = try self.search(path, ranges, search)
            results[segment] = result
            for range in result.unsearched.ranges {
                let reason =
                    "bytes that cannot be decompressed may hold the id; to be sure, give them up: sluice-relay "
                    + "quarantine discard --reason damaged --reason torn_tail"
                report.unreachable.append(Gap(path: path, bytes: range, reason: reason))
            }
        }
        return results
    }

    /// Searches ranges of a file; a file that is gone holds nothing.
    private func search(
        _ path: String,
        _ ranges: RangeSet<Int>,
        _ search: PersonSearch
    ) throws(SpoolError) -> DamageSearch.Result {
        var bytes = ByteBuffer()
        do throws(SystemError) {
            let file = try File(opening: path, O_RDONLY)
            let size = try file.status().size
            guard size <= PersonSearch.maximumFileBytes else {
                var result = DamageSearch.Result()
                result.unsearched = ranges
                return result
            }
            try file.append(to: &bytes, at: 0, upTo: size)
        } catch {
            guard error.errno == ENOENT else { throw SpoolError(error) }
        }
        return search.damage.search(bytes.bytes, covered: ranges)
    }
}

extension Eraser.Report {
    fileprivate mutating func add(_ other: Eraser.Report) {
        waiting += other.waiting
        claimed += other.claimed
        delivered += other.delivered
        undecided += other.undecided
    }
}

extension DamageSearch.Result {
    /// What becomes of the entry about damaged bytes.
    fileprivate func decision(on item: QuarantineItem) -> QuarantineEditor.Decision {
        var entry = item.entry
        guard let damage = entry.damage else { return .leave }
        let whole = damage.offset..<damage.offset + max(0, damage.length)
        var rest = RangeSet(whole)
        rest.subtract(removed)
        guard rest != RangeSet(whole) else { return .leave }
        let taken = min(damage.records, hits.count { whole.contains($0) })
        // What stays is all that nobody found: its records, and the pieces of its bytes.
        var lines = ByteBuffer()
        var records = damage.records - taken
        if rest.isEmpty && records == 0 { return .take }
        var bytes = rest.ranges.reduce(0) { $0 + $1.count }
        for range in rest.isEmpty ? [damage.offset..<damage.offset] : Array(rest.ranges) {
            if range.lowerBound != rest.ranges.first?.lowerBound { entry.origin.frame = range.lowerBound }
            // Each piece stands for its share of them; a later search may find some there.
            let share = range.count >= bytes ? records : records * range.count / bytes
            entry.damage = .init(offset: range.lowerBound, length: range.count, records: share)
            entry.append(to: &lines, record: nil)
            records -= share
            bytes -= range.count
        }
        return .rewrite(taken: taken, lines: Array(lines.bytes))
    }
}

/// Recognises the records of persons, and notes which other ids stand beside theirs.
private final class PersonSearch {
    /// Files that are larger are not searched for damage.
    static let maximumFileBytes = 256 << 20
    private static let maximumOthers = 10_000

    let damage: DamageSearch
    private let book: ErasureBook
    private let parser = JSONParser(maximumBytes: SegmentReader.maximumContentBytes, maximumDepth: 256)
    /// Hashes of ids that stand in found records and were not asked for.
    private(set) var others: Set<ErasureBook.PersonHash> = []

    init(_ persons: [Person], until: Int) {
        var book = ErasureBook(seed: .random(in: .min ... .max))
        for person in persons {
            book.take(book.hash(of: person), .init(kind: person.kind, until: until, notedAt: until))
        }
        self.book = book
        damage = DamageSearch(persons, book: book)
    }

    /// - Returns: nil when the line is no record.
    func isMeant(line: UnsafeRawBufferPointer) -> Bool? {
        // Whatever is wrong with it, a relay will say so.
        guard let document = try? parser.parse(line), document[0].kind == .object else { return nil }
        return isMeant(document, record: 0)
    }

    func isMeant(_ document: JSONDocument, record: Int) -> Bool {
        guard book.covers(document, record: record) else { return false }
        _ = PersonFields.contains(in: document, record: record) { kind, text in
            let hash = book.hash(of: kind, text)
            if book.entries[hash] == nil && others.count < Self.maximumOthers { others.insert(hash) }
            return false
        }
        return true
    }

    /// Whether a line that is no JSON object shows one of the persons.
    func isMeant(base64 item: QuarantineItem) -> Bool {
        guard let token = item.document.value(of: "line_base64", in: 0),
            let bytes = Data(base64Encoded: Data(item.document.text(item.document[token])))
        else { return false }
        return bytes.withUnsafeBytes { damage.count(in: $0) } > 0
    }
}

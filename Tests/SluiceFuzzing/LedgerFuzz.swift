// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

/// A ledger says the same read in pieces, with every line twice, with a torn end and folded; nothing is counted twice.
///
/// A first byte below 0x20 is taken off, and every line gets its checksum.
final class LedgerFuzz {
    /// What a book says.
    private struct Content: Equatable {
        var totals: LedgerTotals
        var open: [SegmentName: LedgerBook.Sealed]
        var finished: Set<SegmentName>
        var moves: [QuarantineMove]
        var writers: [UInt64: WriterMark]
        var strays: Set<SegmentName>
        var mismatches: [SegmentName: [Int]]
        var newestAt: Int
        var expectedInQuarantine: Int

        init(_ book: LedgerBook) {
            totals = book.totals
            open = book.open
            finished = book.finished
            moves = book.moves
            writers = book.writers
            strays = book.strays
            mismatches = book.mismatches.mapValues { [$0.sealed, $0.finished] }
            newestAt = book.newestAt
            expectedInQuarantine = book.expectedInQuarantine
        }
    }

    private let scratch: ScratchSpool
    private let clock = ManualClock(wallMilliseconds: 1_796_000_000_000).clock

    init() throws { scratch = try ScratchSpool() }

    func check(_ input: UnsafeRawBufferPointer) throws {
        let isSigned = input.first.map { $0 < 0x20 && $0 != 0x0A } ?? false
        var lines = input.from(isSigned ? 1 : 0).split(separator: 0x0A).map { Array($0) }
        if isSigned { lines = lines.map(Self.signed) }
        let text = lines.flatMap { (line: [UInt8]) -> [UInt8] in line + [0x0A] }
        let book = try read(text)
        let content = Content(book)
        try checkBook(book)
        try checkTwice(lines, content)
        try checkTorn(text, content)
        try checkPieces(text, content)
        try checkStatus(text)
        try checkFold(text, book)
    }

    private static func signed(_ line: [UInt8]) -> [UInt8] {
        line + Array(" \(SegmentName.writerText(line.withUnsafeBytes { Checksum.xxh3($0) }))".utf8)
    }

    private func read(_ text: [UInt8]) throws -> LedgerBook {
        try scratch.write(text, to: scratch.spool.ledger)
        return try Ledger.book(of: scratch.spool)
    }

    private func checkBook(_ book: LedgerBook) throws {
        try hold(book.open.keys.allSatisfy { !book.finished.contains($0) }, "a segment is open and finished")
        try hold(Set(book.moves.map(\.source)).count == book.moves.count, "a file is taken apart twice")
        for mark in book.gaps(onDisk: []) {
            try hold(mark.missing.ranges.allSatisfy { $0.upperBound <= mark.next }, "a gap behind the end")
        }
    }

    // MARK: - Read in other ways

    private func checkTwice(_ lines: [[UInt8]], _ content: Content) throws {
        let doubled = lines.flatMap { (line: [UInt8]) -> [UInt8] in line + [0x0A] + line + [0x0A] }
        try hold(Content(try read(doubled)) == content, "a line counts twice")
    }

    private func checkTorn(_ text: [UInt8], _ content: Content) throws {
        for tail in ["1796000000 sealed 1796000000000-0123456789abcdef-0 records=1", "\0\0\0\0", "\u{7F}"] {
            try hold(Content(try read(text + Array(tail.utf8))) == content, "a torn line counts")
            try hold(Content(try read(text + Array("\(tail)\n".utf8))) == content, "a line that does not verify counts")
        }
    }

    private func checkPieces(_ text: [UInt8], _ content: Content) throws {
        let half = text.count / 2
        try scratch.write(Array(text[..<half]), to: scratch.spool.ledger)
        let ledger = try Ledger(in: scratch.spool, clock: clock)
        try scratch.append(Array(text[half...]), to: scratch.spool.ledger)
        try hold(Content(try ledger.book()) == content, "read in two pieces, it says something else")
        let segment = SegmentName(millisecondsSince1970: 1_796_000_000_001, writer: 0xFEED_FACE, sequence: 0)
        guard content.open[segment] == nil, !content.finished.contains(segment) else { return }
        try ledger.append([.sealed(segment, records: 3)])
        let book = try ledger.book()
        try hold(book.open[segment]?.records == 3, "a line that was appended is not read")
        try hold(book.totals.accepted == content.totals.accepted + 3, "a line that was appended does not count")
    }

    private func checkStatus(_ text: [UInt8]) throws {
        try scratch.write(text, to: scratch.spool.ledger)
        let status = try SpoolStatus.read(scratch.spool, clock: clock, attempts: 1)
        try hold(PlainJSON(Array(status.json.utf8)) != nil, "a status that is no JSON")
    }

    private func checkFold(_ text: [UInt8], _ before: LedgerBook) throws {
        try scratch.write(text, to: scratch.spool.ledger)
        let ledger = try Ledger(in: scratch.spool, clock: clock, foldingBytes: 0)
        guard try ledger.foldIfLarge() else { return }
        let after = try Ledger.book(of: scratch.spool)
        try hold(after.totals.accepted == before.totals.accepted, "folding changes what was accepted")
        try hold(after.totals.counts == before.totals.counts, "folding changes what became of it")
        try hold(after.totals.tornTails == before.totals.tornTails, "folding changes the torn tails")
        try hold(after.totals.segments == before.totals.segments, "folding changes the number of segments")
        try hold(after.open == before.open, "folding changes what is open")
        try hold(after.expectedInQuarantine == before.expectedInQuarantine, "folding changes what is in quarantine")
        try hold(after.newestAt >= before.newestAt, "folding forgets the newest time")
        try hold(after.invalidLines == 0, "folding writes lines that do not verify")
        let gaps = after.gaps(onDisk: []).map(\.missing)
        try hold(gaps == before.gaps(onDisk: []).map(\.missing), "folding changes the gaps")
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceEvents
import SluiceJSON
import SluiceSpool
import SluiceSystem

/// `sluice-relay verify`: reads the whole spool and tells what is damaged.
struct VerifyCommand: Command {
    static let abstract = "Read every byte of the spool and tell what is damaged; nothing is changed."
    static let usage = "[--spool DIR]"
    static let help = """
        Decompresses every segment and quarantine file, checks checksums, counts and footers, parses every record, checks
        the ledger's lines, and compares what it says was sealed with what can be read. It may run beside endpoint and
        relay; segments that are finished meanwhile are passed over. An unfinished frame at the end of a segment without
        footer (a torn tail) is told and is no damage: it was never acknowledged.

        Options:
        \(ConfigurationSource.help(SpoolReading.settings))

        Exit codes: 0 all is whole; 65 damage was met; 78 there is no spool.

        Examples:
          sluice-relay verify
          sluice-relay verify --spool /srv/restored/spool
        """

    private let reading: SpoolReading

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        reading = try SpoolReading(&arguments, context)
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let spool = try reading.open()
        // Before the segments are read: what is sealed later may have been read while it grew.
        let book = try Ledger.book(of: spool)
        var scan = SpoolScan(output: context.output, sealed: book.open)
        for place in try SegmentPlace.all(in: spool) { try scan.read(place, in: spool) }
        if book.invalidLines > 0 {
            let place = book.firstInvalidOffset.map { " at byte \($0)" } ?? ""
            try scan.problem("\(spool.ledger)\(place): \(book.invalidLines) lines do not verify")
        }
        let counts = [
            (scan.segments, "segment"), (scan.records, "record"), (scan.tornTails, "torn tail"),
            (scan.problems, "problem"),
        ]
        try context.output.line(counts.map { "\($0) \($1)\($0 == 1 ? "" : "s")" }.joined(separator: ", "))
        return scan.problems == 0 ? .ok : .badData
    }
}

/// Reads segments to their last byte.
private struct SpoolScan: ~Copyable {
    let output: Output
    /// What the ledger says was sealed and is not finished.
    let sealed: [SegmentName: LedgerBook.Sealed]
    private(set) var segments = 0
    private(set) var records = 0
    private(set) var tornTails = 0
    private(set) var problems = 0
    private var buffer = ByteBuffer()
    private let parser = JSONParser(maximumBytes: SegmentReader.maximumContentBytes)

    init(output: Output, sealed: [SegmentName: LedgerBook.Sealed]) {
        self.output = output
        self.sealed = sealed
    }

    mutating func problem(_ text: String) throws {
        problems += 1
        try output.line(text)
    }

    /// Reads one segment; one that moved on meanwhile is looked for once more, and may be finished.
    mutating func read(_ place: SegmentPlace, in spool: SpoolFolder) throws {
        do throws(SpoolError) {
            try open(place)
        } catch {
            guard error.errnoCode == ENOENT else { return try problem(error.description) }
            guard let now = try SegmentPlace.all(in: spool).first(where: { $0.segment == place.segment }) else {
                return
            }
            do throws(SpoolError) {
                try open(now)
            } catch {
                if error.errnoCode != ENOENT { try problem(error.description) }
            }
        }
    }

    private mutating func open(_ place: SegmentPlace) throws(SpoolError) {
        let (path, folder) = (place.path, place.folder)
        let reader = try SegmentReader(opening: path, checksContent: true)
        segments += 1
        var found: [String] = []
        var count = 0
        loop: while true {
            switch try reader.next(into: &buffer) {
            case .frame(let offset, _, let declared):
                let lines = buffer.bytes.lineCount
                count += lines
                if let declared, declared != lines {
                    found.append("at byte \(offset): \(lines) records, \(declared) declared")
                }
                found += unreadable(at: offset, isQuarantine: folder == .quarantine)
            case .damaged(let offset, let length, let declared):
                let lost = declared.map { "\($0) records" } ?? "an unknown number of records"
                found.append("at byte \(offset): \(length) bytes are damaged, \(lost)")
            case .tornTail: if folder != .incoming { tornTails += 1 }
            case .end(let footer):
                if let footer, footer.records != count && found.isEmpty {
                    found.append("the footer says \(footer.records) records, there are \(count)")
                }
                // Damage has been told with its place.
                if let sealed = sealed[place.segment], sealed.isExact, sealed.records != count, found.isEmpty {
                    found.append("the ledger says \(sealed.records) records were sealed, \(count) can be read")
                }
                break loop
            }
        }
        records += count
        do {
            for text in found { try problem("\(path) \(text)") }
        } catch {
            throw SpoolError(.io, path: "standard output", detail: "\(error)")
        }
    }

    /// Lines that are no records.
    private func unreadable(at frame: Int, isQuarantine: Bool) -> [String] {
        var found: [String] = []
        for (index, line) in Lines(buffer.bytes).enumerated() {
            do {
                let document = try parser.parse(line)
                if !isQuarantine { _ = try SpooledRecord(document) }
            } catch {
                found.append("at byte \(frame), record \(index): \(error)")
                if found.count == 10 { return found }
            }
        }
        return found
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceJSON
internal import SluiceSystem

/// The editing of one quarantine file, whose lock the editor holds.
struct QuarantineEdit {
    private let editor: QuarantineEditor
    private let kind: QuarantineMove.Kind
    private let file: QuarantineFolder.File
    private let isDryRun: Bool
    private let parser: JSONParser

    init(
        _ editor: QuarantineEditor,
        kind: QuarantineMove.Kind,
        file: QuarantineFolder.File,
        isDryRun: Bool,
        parser: JSONParser
    ) {
        self.editor = editor
        self.kind = kind
        self.file = file
        self.isDryRun = isDryRun
        self.parser = parser
    }

    private var spool: SpoolFolder { editor.spool }

    /// What the decisions came to.
    private struct Selection: ~Copyable {
        /// For a replay: the records' lines.
        var chosen = ByteBuffer()
        var receivedAt: ClosedRange<Int>?
        /// The lines of entries that stay.
        var rest = ByteBuffer()
        var restRecords = 0
        /// Records in the new segment or gone.
        var taken = 0
        /// Entries that go, for a record or for nothing.
        var removedEntries = 0
        var origins: Set<RecordOrigin> = []
    }

    func run(
        seen: inout Set<RecordOrigin>,
        report: inout QuarantineEditor.Report,
        decide: (QuarantineItem, inout ByteBuffer) throws(SpoolError) -> QuarantineEditor.Decision
    ) throws(SpoolError) {
        let before = report
        var selection = Selection()
        let reading = try select(into: &selection, seen: seen, report: &report, decide: decide)
        guard reading.isWhole else {
            report = before
            report.damagedFiles.append(file.name)
            return
        }
        seen.formUnion(selection.origins)
        guard selection.removedEntries > 0 else {
            report.unchangedFiles.append(file.name)
            return
        }
        if isDryRun { return }
        let move = try write(selection)
        report.files += 1
        report.moves.append(move)
        if let segment = move.segment { report.segments.append(segment) }
    }

    private func select(
        into selection: inout Selection,
        seen: Set<RecordOrigin>,
        report: inout QuarantineEditor.Report,
        decide: (QuarantineItem, inout ByteBuffer) throws(SpoolError) -> QuarantineEditor.Decision
    ) throws(SpoolError) -> QuarantineFolder.Reading {
        var form = ByteBuffer()
        return try QuarantineFolder(of: spool).read(file, parser: parser) { (item) throws(SpoolError) in
            guard !seen.contains(item.origin), selection.origins.insert(item.origin).inserted else {
                report.repeated += 1
                selection.removedEntries += 1
                return
            }
            form.removeAll()
            var decision = try decide(item, &form)
            if kind == .replay && item.recordToken == nil { decision = .leave }
            switch decision {
            case .leave: report.left += item.records
            case .failsAgain: report.failsAgain += item.records
            case .take:
                report.taken += item.records
                selection.taken += item.records
                selection.removedEntries += 1
                if kind == .replay { append(item, form: form.bytes, to: &selection) }
                return
            case .rewrite(let taken, let lines):
                report.taken += taken
                report.left += item.records - taken
                selection.taken += taken
                selection.removedEntries += 1
                selection.rest.append(lines)
                selection.restRecords += item.records - taken
                return
            }
            selection.rest.append(item.line)
            selection.rest.append(UInt8(ascii: "\n"))
            selection.restRecords += item.records
        }
    }

    // MARK: Records

    /// Appends a record with its origin and one replay more.
    private func append(_ item: QuarantineItem, form: UnsafeRawBufferPointer, to selection: inout Selection) {
        guard let record = item.recordToken else { return }
        selection.chosen.append(#"{"origin":"#)
        item.origin.append(to: &selection.chosen)
        selection.chosen.append(#","replays":"#)
        selection.chosen.append(decimal: item.replays + 1)
        if form.count > 2 {
            selection.chosen.append(UInt8(ascii: ","))
            selection.chosen.append(UnsafeRawBufferPointer(rebasing: form.dropFirst()))
        } else {
            appendMembers(of: record, in: item.document, to: &selection.chosen)
        }
        selection.chosen.append(UInt8(ascii: "\n"))
        let document = item.document
        let received = document.value(of: "received_at", in: record).flatMap { document.integer(document[$0]) } ?? 0
        let lower = min(selection.receivedAt?.lowerBound ?? received, received)
        selection.receivedAt = lower...max(selection.receivedAt?.upperBound ?? received, received)
    }

    /// Appends the members as they were spooled, without those that the last replay put in front.
    private func appendMembers(of record: Int, in document: JSONDocument, to buffer: inout ByteBuffer) {
        for member in document.members(of: record) {
            let key = document[member.key]
            if document.text(key, equals: "origin") || document.text(key, equals: "replays") { continue }
            buffer.append(#",""#)
            buffer.append(document.raw(key))
            buffer.append(#"":"#)
            let value = document[member.value]
            let isString = value.kind == .string
            if isString { buffer.append(UInt8(ascii: "\"")) }
            buffer.append(document.raw(value))
            if isString { buffer.append(UInt8(ascii: "\"")) }
        }
        buffer.append(UInt8(ascii: "}"))
    }

    // MARK: Files

    private func write(_ selection: borrowing Selection) throws(SpoolError) -> QuarantineMove {
        let now = editor.clock.wallSeconds
        var move = QuarantineMove(
            kind: kind,
            source: file.name,
            taken: selection.taken,
            segment: nil,
            rest: nil,
            restRecords: selection.restRecords,
            userNumber: Int(getuid())
        )
        var segment: SegmentFile?
        var rest: SegmentFile?
        do throws(SpoolError) {
            if !selection.chosen.isEmpty {
                segment = try make(newName(writer: .random(in: .min ... .max), sequence: 0))
                try fill(segment, with: selection.chosen.bytes, receivedAt: selection.receivedAt ?? now...now)
                move.segment = segment?.name
            }
            try editor.atStep(.chosenWritten)
            if !selection.rest.isEmpty {
                // The same writer: these are still the records of that segment's claim.
                rest = try make(newName(writer: file.name.writer, sequence: .random(in: 1 << 32..<1 << 48)))
                try fill(rest, with: selection.rest.bytes, receivedAt: now...now)
                move.rest = rest?.name
            }
            try editor.atStep(.restWritten)
            try spoolCall { () throws(SystemError) in try FileSystem.syncFolder(spool.quarantine) }
            try editor.atStep(.folderSynced)
        } catch {
            segment?.discard()
            rest?.discard()
            throw error
        }
        // Whether the line is there after a failure cannot be known: the new files stay, and the next run sees.
        try editor.ledger.append([.moved(move)])
        try editor.atStep(.lineWritten)
        try editor.complete(move, editor.atStep)
        return move
    }

    private func newName(writer: UInt64, sequence: UInt64) -> SegmentName {
        SegmentName(
            millisecondsSince1970: min(max(0, Int(editor.clock.wallMilliseconds())), SegmentName.millisecondsLimit - 1),
            writer: writer,
            sequence: sequence
        )
    }

    /// A new file under its hidden name, in quarantine whatever becomes of it: so it is never seen half-way.
    private func make(_ name: SegmentName) throws(SpoolError) -> SegmentFile {
        try SegmentFile(
            creating: name,
            in: spool.quarantine,
            as: name.sealedFileName,
            createdAt: editor.clock.wallSeconds
        )
    }

    private func fill(
        _ file: SegmentFile?,
        with lines: UnsafeRawBufferPointer,
        receivedAt: ClosedRange<Int>
    ) throws(SpoolError) {
        try file?.append(lines: lines, receivedAt: receivedAt)
        try file?.appendFooter()
        try file?.sync()
    }
}

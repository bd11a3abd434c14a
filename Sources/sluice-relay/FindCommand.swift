// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceEvents
import SluiceJSON
import SluiceRelay
import SluiceSpool
import SluiceSystem

/// `sluice-relay find`: where an event is.
struct FindCommand: Command {
    static let abstract = "Tell where the event with an id is: pending, in quarantine and why, delivered, or unknown."
    static let usage = "EVENT_ID [--spool DIR]"
    static let help = """
        Searches every segment and quarantine file. One line for each record with this id:

          pending SEGMENT frame F record I      waits, or is on its way
          delivered SEGMENT frame F record I    delivered; the segment is not finished yet (or: duplicate, expired, …)
          quarantined SEGMENT reason R: DETAIL  bad, kept; see: sluice-relay quarantine show
          unknown                               not in the spool: delivered and finished, or never taken

        The id of an event is its sender's; two events may carry the same one, then there are two lines. What waits or is
        bad is looked up in the duplicate window, which knows the events delivered last by their content: "delivered
        before" says that the very event has arrived and will not be sent again. An event whose segment is finished
        leaves no trace by its id; ask GraphJSON for event_id.

        Options:
        \(ConfigurationSource.help(SpoolReading.settings))

        Exit codes: 0 searched; 78 there is no spool.

        Examples:
          sluice-relay find evt_01J8Z
        """

    private let reading: SpoolReading
    private let eventID: [UInt8]

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        reading = try SpoolReading(&arguments, context)
        eventID = Array(try arguments.remaining("EVENT_ID")[0].utf8)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let spool = try reading.open()
        let window = DuplicateWindow.openForReading(in: spool)
        var found = 0
        for place in try SegmentPlace.all(in: spool) {
            do {
                for line in try matches(in: place, of: spool, window) {
                    found += 1
                    try context.output.line(line)
                }
            } catch let error as SpoolError {
                // A segment that is gone was finished meanwhile.
                if error.errnoCode != ENOENT { context.note(error.description) }
            }
        }
        if found == 0 { try context.output.line("unknown") }
        return .ok
    }

    private func matches(
        in place: SegmentPlace,
        of spool: SpoolFolder,
        _ window: DuplicateWindow?
    ) throws(SpoolError) -> [String] {
        let reader = try SegmentReader(opening: place.path)
        let parser = JSONParser(maximumBytes: SegmentReader.maximumContentBytes)
        var resolved: ResolvedRecords?
        var buffer = ByteBuffer()
        var identity = EventIdentity()
        var lines: [String] = []
        while true {
            switch try reader.next(into: &buffer) {
            case .frame(let offset, _, _):
                guard buffer.bytes.contains(part: eventID) else { continue }
                for (index, line) in Lines(buffer.bytes).enumerated() where line.contains(part: eventID) {
                    // A line that does not parse is nobody's event; `verify` tells of it.
                    guard let document = try? parser.parse(line) else { continue }
                    if place.folder == .quarantine {
                        guard let (record, text) = quarantined(document) else { continue }
                        let before = Self.deliveredBefore(record, window, &identity)
                        lines.append("quarantined \(place.segment) \(text)\(before)")
                    } else if let record = try? SpooledRecord(document), isMatch(record) {
                        if resolved == nil { resolved = try Progress.resolved(of: place.segment, in: spool) }
                        let outcome = resolved?.outcome(frame: offset, index: index)
                        let before = outcome == nil ? Self.deliveredBefore(record, window, &identity) : ""
                        let state = outcome.map { "\($0)" } ?? "pending"
                        lines.append("\(state) \(place.segment) frame \(offset) record \(index)\(before)")
                    }
                }
            case .damaged, .tornTail: continue
            case .end: return lines
            }
        }
    }

    /// What the duplicate window knows of an event without an outcome.
    private static func deliveredBefore(
        _ record: SpooledRecord,
        _ window: DuplicateWindow?,
        _ identity: inout EventIdentity
    ) -> String {
        guard let window else { return "" }
        let fingerprint = identity.fingerprint(of: record, seed: window.seed)
        // Whether from this record or another: the event has arrived.
        return window.lookup(fingerprint, origin: 0) == .absent ? "" : ", delivered before"
    }

    /// The record and the reason of a quarantine entry, if it is about this event.
    private func quarantined(_ document: JSONDocument) -> (SpooledRecord, String)? {
        guard let index = document.value(of: "record", in: 0), let record = try? SpooledRecord(document, at: index),
            isMatch(record)
        else { return nil }
        let texts = (["reason", "detail"] as [StaticString]).map { name in
            document.value(of: name, in: 0).map { document.string(document[$0]) } ?? ""
        }
        return (record, "reason \(texts[0])" + (texts[1].isEmpty ? "" : ": \(texts[1])"))
    }

    private func isMatch(_ record: SpooledRecord) -> Bool {
        record.document.text(record.document[record.eventID]).elementsEqual(eventID)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceJSON
import SluiceSpool
import SluiceSystem

/// `sluice-relay quarantine show`: records in quarantine with everything that is known of them.
struct QuarantineShowCommand: Command {
    static let abstract = "Show records in quarantine: why, since when, how often tried, and the record itself."
    static let usage = QuarantineSelection.usage
    static let help = """
        Shows what is chosen, the oldest first: what the record is, why it is here and what was answered, and what to do
        next. The record itself stands last, what the endpoint took, byte for byte; it may hold a person's data.

        Options:
        \(QuarantineSelection.help)
        \(HelpText.table([
            ("--limit N", "At most so many records. Default: 20."),
            ("--json", "The entries as they are stored, one JSON object a line."),
        ]))
        \(ConfigurationSource.help(SpoolReading.settings))

        Examples:
          sluice-relay quarantine show --event chat_opened --limit 1
          sluice-relay quarantine show --id evt-1 --json

        Exit codes: 0 shown, or there is none; 65 a quarantine file is damaged, the rest is shown; 78 there is no spool.
        """

    private let reading: SpoolReading
    private let selection: QuarantineSelection
    private let limit: Int
    private let isJSON: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        limit = try arguments.integer("--limit", in: 1...Int.max) ?? 20
        isJSON = try arguments.flag("--json")
        reading = try SpoolReading(&arguments, context)
        selection = try QuarantineSelection(&arguments)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let spool = try reading.open()
        let folder = QuarantineFolder(of: spool)
        var seen: Set<RecordOrigin> = []
        var code = ExitCode.ok
        var found = 0
        for file in try selection.files(of: folder, try Ledger.book(of: spool)) where found <= limit {
            var texts: [[UInt8]] = []
            do throws(SpoolError) {
                let result = try folder.read(file) { (item) throws(SpoolError) in
                    guard found <= limit, selection.matches(item), seen.insert(item.origin).inserted
                    else { return }
                    found += 1
                    if found <= limit { texts.append(isJSON ? Array(item.line) : Array(text(item, file).utf8)) }
                }
                if !result.isWhole {
                    code = .badData
                    context.note("\(file.path): damaged; see: sluice-relay inspect \(file.name)")
                }
            } catch {
                // A file that is gone was replayed or discarded meanwhile.
                if error.errnoCode != ENOENT { throw error }
            }
            for text in texts { try context.output.write(text + [UInt8(ascii: "\n")]) }
        }
        if found == 0 { context.note("no such record is in quarantine") }
        if found > limit { context.note("there are more; --limit N shows them") }
        return code
    }

    private func text(_ item: QuarantineItem, _ file: QuarantineFolder.File) -> String {
        let entry = item.entry
        var rows: [(String, String)] = []
        if item.recordToken != nil {
            rows.append(("event", "\(item.event) \(item.envelopeText("event_id"))"))
            rows.append(("release", "\(item.envelopeText("app_version")) (\(item.envelopeText("build_number")))"))
        }
        rows.append(("reason", entry.reason))
        if !entry.detail.isEmpty { rows.append(("detail", entry.detail)) }
        if let status = entry.status { rows.append(("status", String(status))) }
        let advice = QuarantineAdvice.about(entry.reason, event: item.event)
        rows.append(("why", advice.why))
        rows.append(("attempts", String(entry.attempts)))
        rows.append(("replays", String(entry.replays)))
        rows.append(("since", CalendarTime.text(seconds: entry.quarantinedAt)))
        rows.append(("origin", entry.origin.description))
        rows.append(("file", file.path))
        if let damage = entry.damage {
            rows.append(("damage", "\(damage.length) bytes at byte \(damage.offset), \(damage.records) records"))
        }
        rows.append(("next", advice.next))
        var text = rows.map { name, value in
            name + String(repeating: " ", count: 10 - name.count) + Self.printable(value) + "\n"
        }.joined()
        if let record = item.record { text += "record    \(String(decoding: record, as: UTF8.self))\n" }
        return text
    }

    private static func printable(_ text: String) -> String {
        String(decoding: text.utf8.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    }
}

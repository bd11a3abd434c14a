// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// What an erasure tells the person who asked for it; no id stands in it.
struct ErasureReport {
    let report: Eraser.Report
    let persons: [Person]
    let isDryRun: Bool

    private static func records(_ count: Int) -> String { ProgressText.counted(count, "record") }

    var lines: [String] {
        var lines = [
            "\(isDryRun ? "would erase" : "erased") \(ProgressText.counted(persons.count, "person")): records received "
                + "up to \(CalendarTime.text(seconds: report.until))"
        ]
        func row(_ name: String, _ text: String) {
            lines.append(name + String(repeating: " ", count: max(1, 13 - name.count)) + text)
        }
        row("waiting", "\(Self.records(report.waiting)), dropped when a relay comes to them")
        if report.claimed > 0 {
            row(
                "claimed",
                "\(Self.records(report.claimed)) with relays, dropped unless a request with them is under way now"
            )
        }
        var removed = "\(Self.records(report.removed)) \(isDryRun ? "would be removed" : "removed")"
        if report.removedFromDamage > 0 { removed += ", \(report.removedFromDamage) of them in damaged bytes" }
        row("quarantine", removed)
        if report.removedEarlier > 0 {
            row("earlier", "\(Self.records(report.removedEarlier)) of persons of earlier requests")
        }
        lines.append("not reached:")
        lines += unreached.map { "  \($0)" }
        return lines
    }

    private var unreached: [String] {
        var lines = [
            "what GraphJSON has already\(delivered); ask it, for each collection: SELECT count() FROM COLLECTION WHERE "
                + condition + "; and have the rows deleted there"
        ]
        if report.otherIDs > 0 {
            lines.append(
                "the same person under other ids: \(ProgressText.counted(report.otherIDs, "other id")) "
                    + "\(report.otherIDs == 1 ? "stands" : "stand") beside the ones asked for; GraphJSON tells which: "
                    + "SELECT DISTINCT JSONExtractString(json, 'anonymous_id') FROM COLLECTION WHERE " + condition
            )
        }
        if !report.busyFiles.isEmpty {
            lines.append(
                "\(ProgressText.counted(report.busyFiles.count, "quarantine file")) that a relay is busy with; it "
                    + "looks through them itself when their segments are finished, or run this again then"
            )
        }
        for gap in report.undecided + report.unreachable {
            let place = gap.bytes.map { ", \($0.count) bytes at byte \($0.lowerBound)" } ?? ""
            lines.append("\(gap.path)\(place): \(gap.reason)")
        }
        lines.append("backups and other copies of the spool, logs of proxies, and what the person's app still keeps")
        return lines
    }

    private var delivered: String {
        if report.delivered == 0 { return "" }
        return ", at least \(Self.records(report.delivered)) (more is not known: the ledger counts, it names nobody)"
    }

    private var condition: String {
        persons.contains { $0.kind == .user }
            ? "JSONExtractString(json, 'user_id') = 'ID' OR JSONExtractString(json, 'claimed_user_id') = 'ID'"
            : "JSONExtractString(json, 'anonymous_id') = 'ID'"
    }

    var json: [String] {
        func gaps(_ gaps: [Eraser.Gap]) -> JSONLine.Value {
            .list(
                gaps.map { gap in
                    var members: [(name: String, value: JSONLine.Value)] = [("path", .string(gap.path))]
                    if let bytes = gap.bytes {
                        members.append(("offset", .integer(bytes.lowerBound)))
                        members.append(("length", .integer(bytes.count)))
                    }
                    members.append(("reason", .string(gap.reason)))
                    return .object(members)
                }
            )
        }
        return [
            JSONLine.text([
                ("dry_run", .boolean(isDryRun)), ("persons", .integer(persons.count)),
                ("until", .integer(report.until)), ("waiting", .integer(report.waiting)),
                ("claimed", .integer(report.claimed)), ("removed", .integer(report.removed)),
                ("removed_from_damage", .integer(report.removedFromDamage)),
                ("removed_for_earlier_requests", .integer(report.removedEarlier)),
                ("known_delivered", .integer(report.delivered)), ("other_ids", .integer(report.otherIDs)),
                ("busy_files", .list(report.busyFiles.map { .string($0.text) })),
                ("undecided", gaps(report.undecided)), ("unreachable", gaps(report.unreachable)),
            ])
        ]
    }
}

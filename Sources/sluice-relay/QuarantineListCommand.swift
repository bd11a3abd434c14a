// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-relay quarantine list`: how many bad records there are, and why.
struct QuarantineListCommand: Command {
    static let abstract = "Count the records in quarantine by reason, event and release."
    static let usage = QuarantineSelection.usage
    static let help = """
        One line for each group, the largest first: the reason, the event, the release (app_version and, in brackets,
        build_number), how often records of it were put back already, and when the first and the last of them came here.

        Options:
        \(QuarantineSelection.help)
        \(HelpText.table([
            ("--files", "Group by quarantine file instead."),
            ("--json", "One JSON object a line."),
        ]))
        \(ConfigurationSource.help(SpoolReading.settings))

        Examples:
          sluice-relay quarantine list
          sluice-relay quarantine list --release 4.3.0 --since 2d
          sluice-relay quarantine show --event chat_opened --limit 1     one of them, why it is here, what to do

        Exit codes: 0 listed; 65 a quarantine file is damaged, the rest is listed; 78 there is no spool.
        """

    private let reading: SpoolReading
    private let selection: QuarantineSelection
    private let isByFile: Bool
    private let isJSON: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        isByFile = try arguments.flag("--files")
        isJSON = try arguments.flag("--json")
        reading = try SpoolReading(&arguments, context)
        selection = try QuarantineSelection(&arguments)
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let spool = try reading.open()
        let folder = QuarantineFolder(of: spool)
        var groups: [QuarantineKey: QuarantineGroup] = [:]
        var files: [[String]: QuarantineGroup] = [:]
        var seen: Set<RecordOrigin> = []
        var code = ExitCode.ok
        for file in try selection.files(of: folder, try Ledger.book(of: spool)) {
            do throws(SpoolError) {
                let result = try folder.read(file) { (item) throws(SpoolError) in
                    guard selection.matches(item), seen.insert(item.origin).inserted else { return }
                    if isByFile {
                        files[[item.file.text, item.reason], default: QuarantineGroup()].add(item)
                    } else {
                        groups[QuarantineKey(item), default: QuarantineGroup()].add(item)
                    }
                }
                if !result.isWhole {
                    code = .badData
                    context.note("\(file.path): damaged; see: sluice-relay inspect \(file.name)")
                }
            } catch {
                // A file that is gone was replayed or discarded meanwhile.
                if error.errnoCode == ENOENT { continue }
                throw error
            }
        }
        if isByFile { try show(files, context.output) } else { try show(groups, context.output) }
        return code
    }

    private func show(_ groups: [QuarantineKey: QuarantineGroup], _ output: Output) throws {
        let rows = groups.sorted { left, right in
            left.value.records != right.value.records
                ? left.value.records > right.value.records : QuarantineKey.precedes(left.key, right.key)
        }
        try show(
            ["reason", "event", "release"],
            rows.map { key, group in
                Row(
                    cells: [key.reason, key.event, key.release],
                    members: key.members,
                    group: group
                )
            },
            output
        )
    }

    private func show(_ files: [[String]: QuarantineGroup], _ output: Output) throws {
        let rows = files.sorted { left, right in
            left.value.records != right.value.records
                ? left.value.records > right.value.records : left.key.lexicographicallyPrecedes(right.key)
        }
        try show(
            ["file", "reason"],
            rows.map { key, group in
                Row(
                    cells: key,
                    members: zip(["file", "reason"], key).map { ($0, .string($1)) },
                    group: group
                )
            },
            output
        )
    }

    private struct Row {
        var cells: [String]
        var members: [(name: String, value: JSONLine.Value)]
        var group: QuarantineGroup
    }

    private func show(_ titles: [String], _ rows: [Row], _ output: Output) throws {
        if isJSON {
            for row in rows { try output.line(JSONLine.text(row.members + row.group.members)) }
            return
        }
        if rows.isEmpty {
            return try output.line("nothing is in quarantine\(selection.isEverything ? "" : " by this choice")")
        }
        let cells = rows.map { row in
            [String(row.group.records)] + row.cells.map { $0.isEmpty ? "-" : $0 } + row.group.cells
        }
        for line in TextTable.lines([["records"] + titles + QuarantineGroup.titles] + cells) { try output.line(line) }
        try output.line("\(ProgressText.counted(rows.map(\.group.records).reduce(0, +), "record")) in all")
    }
}

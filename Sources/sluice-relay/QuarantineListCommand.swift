// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceJSON
import SluiceSpool
import SluiceSystem

/// `sluice-relay quarantine list`: how many bad records there are, and why.
struct QuarantineListCommand: Command {
    static let abstract = "Count the records in quarantine by reason, event and release."
    static let usage = QuarantineSelection.usage
    static let help = """
        One line for each group, the largest first. Records are looked at with: sluice-relay quarantine show

        Options:
        \(QuarantineSelection.help)
        \(HelpText.table([
            ("--files", "Group by quarantine file instead."),
            ("--json", "One JSON object a line."),
        ]))
        \(ConfigurationSource.help(SpoolReading.settings))

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
        var groups: [[String]: QuarantineGroup] = [:]
        var seen: Set<RecordOrigin> = []
        var code = ExitCode.ok
        for file in try selection.files(of: folder, try Ledger.book(of: spool)) {
            do throws(SpoolError) {
                let result = try folder.read(file) { (item) throws(SpoolError) in
                    guard selection.matches(item), seen.insert(item.origin).inserted else { return }
                    groups[key(item), default: QuarantineGroup()].add(item)
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
        try show(groups, context.output)
        return code
    }

    private func key(_ item: QuarantineItem) -> [String] {
        if isByFile { return [item.file.text, item.reason] }
        return [item.reason, item.event, item.envelopeText("app_version")]
    }

    private func show(_ groups: [[String]: QuarantineGroup], _ output: Output) throws {
        let names = isByFile ? ["file", "reason"] : ["reason", "event", "release"]
        let rows = groups.sorted { left, right in
            left.value.records != right.value.records
                ? left.value.records > right.value.records : left.key.lexicographicallyPrecedes(right.key)
        }
        if isJSON {
            for (key, group) in rows { try output.line(group.json(Array(zip(names, key)))) }
            return
        }
        if rows.isEmpty {
            return try output.line("nothing is in quarantine\(selection.isEverything ? "" : " by this choice")")
        }
        let table = [["records"] + names + ["replays", "oldest", "newest"]] + rows.map { $1.cells($0) }
        for line in TextTable.lines(table) { try output.line(line) }
        try output.line("\(ProgressText.counted(rows.map(\.value.records).reduce(0, +), "record")) in all")
    }
}

/// Records in quarantine that have something in common.
struct QuarantineGroup {
    private(set) var records = 0
    private var oldest = Int.max
    private var newest = 0
    private var replays = 0

    mutating func add(_ item: QuarantineItem) {
        records += item.records
        oldest = min(oldest, item.quarantinedAt)
        newest = max(newest, item.quarantinedAt)
        replays = max(replays, item.replays)
    }

    func cells(_ key: [String]) -> [String] {
        [String(records)] + key.map { $0.isEmpty ? "-" : $0 }
            + [String(replays), CalendarTime.text(seconds: oldest), CalendarTime.text(seconds: newest)]
    }

    func json(_ key: [(name: String, text: String)]) -> String {
        var buffer = ByteBuffer()
        buffer.append("{")
        for (name, text) in key {
            buffer.append(jsonString: name)
            buffer.append(":")
            buffer.append(jsonString: text)
            buffer.append(",")
        }
        buffer.append(
            "\"records\":\(records),\"replays\":\(replays),\"oldest\":\(oldest),\"newest\":\(newest)}" as String
        )
        return String(decoding: buffer.bytes, as: UTF8.self)
    }
}

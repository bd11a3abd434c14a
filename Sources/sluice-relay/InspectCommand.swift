// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSpool
import SluiceSystem

/// `sluice-relay inspect`: what is in one segment.
struct InspectCommand: Command {
    static let abstract = "Show what a segment file holds, frame by frame, or its records."
    static let usage = "SEGMENT [--records] [--spool DIR]"
    static let help = """
        SEGMENT is the name of a segment or quarantine file of the spool, or the path of a file. Nothing is changed, and
        damage does not stop it: what can be read is shown, what cannot is told with its place.

        Options:
          --records                   Print the records, one JSON object a line, instead of the frames.
        \(ConfigurationSource.help(SpoolReading.settings))

        Exit codes: 0 whole; 65 damage was met, or there is no such segment; 74 the file cannot be read.

        Examples:
          sluice-relay inspect 1796000000000-0123456789abcdef-0
          sluice-relay inspect ./spool/ready/1796000000000-0123456789abcdef-0.ndjson.lz4 --records
        """

    private let reading: SpoolReading
    private let word: String
    private let showsRecords: Bool

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        showsRecords = try arguments.flag("--records")
        reading = try SpoolReading(&arguments, context)
        word = try arguments.remaining("SEGMENT")[0]
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        let path = try SegmentPlace.path(named: word, in: reading.open)
        let reader = try SegmentReader(opening: path)
        return showsRecords ? try records(reader, context) : try outline(reader, context.output)
    }

    private func records(_ reader: SegmentReader, _ context: CommandContext) throws -> ExitCode {
        var code = ExitCode.ok
        var buffer = ByteBuffer()
        while true {
            switch try reader.next(into: &buffer) {
            case .frame:
                try context.output.write(buffer.bytes)
                if buffer.bytes.last != UInt8(ascii: "\n") { try context.output.line() }
            case .damaged(let offset, let length, let records):
                code = .badData
                context.note("\(reader.path): \(Self.sentence("damaged", offset, length, records))")
            case .tornTail(let offset, let length, let records):
                context.note("\(reader.path): \(Self.sentence("torn tail", offset, length, records))")
            case .end: return code
            }
        }
    }

    private func outline(_ reader: SegmentReader, _ output: Output) throws -> ExitCode {
        var code = ExitCode.ok
        var buffer = ByteBuffer()
        var records = 0
        var frames = 0
        var bytes = 0
        var lines: [String] = []
        loop: while true {
            switch try reader.next(into: &buffer) {
            case .frame(let offset, let length, let declared):
                let count = buffer.bytes.lineCount
                frames += 1
                records += count
                bytes += buffer.count
                var line = "frame at byte \(offset): \(length) bytes, \(buffer.count) uncompressed, \(count) records"
                if let declared, declared != count { line += " (\(declared) declared)" }
                if declared == nil { line += " (without a count)" }
                lines.append(line)
            case .damaged(let offset, let length, let declared):
                code = .badData
                lines.append(Self.sentence("damaged", offset, length, declared))
            case .tornTail(let offset, let length, let declared):
                lines.append(Self.sentence("torn tail", offset, length, declared))
            case .end(let footer):
                try output.line("segment: \(reader.path)")
                try output.line("size: \(reader.fileBytes) bytes")
                try output.line("records: \(records) in \(frames) frames, \(bytes) bytes uncompressed")
                try output.line(
                    "footer: \(footer.map(Self.text) ?? "none: the writer ended before it sealed the segment")"
                )
                break loop
            }
        }
        for line in lines { try output.line(line) }
        return code
    }

    private static func text(_ footer: SegmentFooter) -> String {
        let times = [footer.receivedAt.lowerBound, footer.receivedAt.upperBound].map { CalendarTime.text(seconds: $0) }
        return "\(footer.records) records, received \(times[0]) to \(times[1])"
    }

    private static func sentence(_ what: String, _ offset: Int, _ length: Int, _ records: Int?) -> String {
        "\(what) at byte \(offset): \(length) bytes, \(records.map { "\($0) records declared" } ?? "records unknown")"
    }
}

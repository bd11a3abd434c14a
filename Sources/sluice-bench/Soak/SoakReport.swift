// SPDX-License-Identifier: Apache-2.0
import SluiceCommands
import SluiceJSON
import SluiceSystem

/// A soak's result as one table, or as one JSON object.
struct SoakReport {
    let result: SoakResult

    // MARK: Text

    var lines: [String] {
        var lines = [
            "soak of \(Self.tenths(result.seconds / 60)) minutes, seed \(result.seed), spool on \(result.disk)",
            "\(result.askedRate) events/s asked for, \(result.rate) acknowledged",
            "",
        ]
        lines += TextTable.lines([["events", "number", ""]] + eventRows)
        lines += [""] + TextTable.lines([["program", "starts", "SIGKILL", "SIGTERM", "other ends"]] + programRows)
        lines +=
            [""]
            + TextTable.lines([["fault", "times", ""]] + result.faults.map { [$0.name, "\($0.count)", $0.detail] })
        lines += [""] + TextTable.lines([["what it takes", "first", "median", "last", "maximum", "flat"]] + sampleRows)
        lines += [""] + result.notes
        lines.append("books read \(result.booksRead) times meanwhile, at the end:")
        lines.append(result.books.line)
        if result.isGood {
            lines.append("nothing that was acknowledged is lost, nothing is altered, the books are balanced")
        } else {
            lines += result.problems.map { "PROBLEM  \($0)" }
        }
        return lines
    }

    private var eventRows: [[String]] {
        let tally = result.tally
        return [
            ["acknowledged", "\(tally.acknowledged)", "= all down to lost"],
            ["  delivered", "\(tally.delivered)", ""],
            ["  quarantined", "\(tally.quarantined)", ""],
            ["  expired", "\(tally.expired)", "of low durability"],
            ["  discarded", "\(tally.discarded)", "by an operator"],
            ["  damaged", "\(tally.damaged)", "bytes overwritten, kept in quarantine"],
            ["  pending", "\(tally.pending)", ""],
            ["  lost", "\(tally.lost)", tally.lostExamples.isEmpty ? "" : "see below"],
            ["altered", "\(result.altered)", ""],
            ["delivered without 2xx", "\(tally.unacknowledged)", "taken, and the answer did not come"],
            ["duplicate", "\(result.books.duplicate)", "repeats of a client that the relay dropped"],
            [
                "duplicated", "\(tally.duplicated)",
                "arrived \(tally.repeats) times more than once, of \(result.arrivals)",
            ],
            ["reordered", "\(result.reordered)", "came first after a later one of their session"],
        ]
    }

    private var programRows: [[String]] {
        result.programs.map { program in
            let ends = program.ownEnds.sorted { $0.key < $1.key }.map { "\($0.value) with \($0.key)" }
            return [
                program.name, "\(program.starts)", "\(program.kills)", "\(program.stops)", ends.joined(separator: ", "),
            ]
        }
    }

    private struct Quantity {
        var name: String
        var series: SoakSamples.Series
        /// How much more it may become and still be flat.
        var slack: Int
        var isBytes: Bool
    }

    private var quantities: [Quantity] {
        let samples = result.samples
        var quantities: [Quantity] = []
        for program in samples.programs {
            quantities.append(
                Quantity(name: "\(program.name) descriptors", series: program.descriptors, slack: 64, isBytes: false)
            )
            quantities.append(
                Quantity(name: "\(program.name) threads", series: program.threads, slack: 2, isBytes: false)
            )
            quantities.append(
                Quantity(
                    name: "\(program.name) RssAnon",
                    series: program.anonymousBytes,
                    slack: 16 << 20,
                    isBytes: true
                )
            )
        }
        quantities.append(Quantity(name: "spool, queue", series: samples.queueBytes, slack: 64 << 20, isBytes: true))
        quantities.append(
            Quantity(name: "spool, quarantine", series: samples.quarantineBytes, slack: 16 << 20, isBytes: true)
        )
        quantities.append(Quantity(name: "spool, ledger", series: samples.ledgerBytes, slack: 16 << 20, isBytes: true))
        return quantities
    }

    private var sampleRows: [[String]] {
        quantities.map { quantity in
            let series = quantity.series
            let values = [series.first, series.median, series.last, series.maximum]
            return [quantity.name] + values.map { quantity.isBytes ? Self.megabytes($0) : "\($0)" }
                + [series.isFlat(slack: quantity.slack) ? "yes" : "NO"]
        }
    }

    private static func megabytes(_ bytes: Int) -> String { "\(tenths(Double(bytes) / 1_048_576)) MiB" }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }

    // MARK: JSON

    var json: String {
        let tally = result.tally
        var buffer = ByteBuffer(capacity: 4096)
        buffer.append("{\"soak\":{\"seed\":\(result.seed),\"seconds\":\(Self.tenths(result.seconds)),")
        buffer.append(
            "\"asked_per_second\":\(result.askedRate),\"acknowledged_per_second\":\(result.rate)},\"events\":{"
        )
        buffer.append("\"acknowledged\":\(tally.acknowledged),\"delivered\":\(tally.delivered),")
        buffer.append("\"quarantined\":\(tally.quarantined),\"expired\":\(tally.expired),")
        buffer.append("\"discarded\":\(tally.discarded),\"damaged\":\(tally.damaged),\"pending\":\(tally.pending),")
        buffer.append("\"lost\":\(tally.lost),\"altered\":\(result.altered),\"duplicate\":\(result.books.duplicate),")
        buffer.append("\"duplicated\":\(tally.duplicated),\"repeats\":\(tally.repeats),")
        buffer.append("\"unacknowledged\":\(tally.unacknowledged),\"arrivals\":\(result.arrivals),")
        buffer.append("\"reordered\":\(result.reordered)},\"lost_examples\":")
        append(tally.lostExamples, to: &buffer)
        buffer.append(",\"programs\":{")
        for (index, program) in result.programs.enumerated() {
            if index > 0 { buffer.append(",") }
            let ends = program.ownEnds.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
            buffer.append("\"\(program.name)\":{\"starts\":\(program.starts),\"kills\":\(program.kills),")
            buffer.append("\"stops\":\(program.stops),\"other_ends\":{\(ends.joined(separator: ","))}}")
        }
        buffer.append("},\"faults\":{")
        buffer.append(result.faults.map { "\"\($0.name)\":\($0.count)" }.joined(separator: ","))
        buffer.append("},\"samples\":{")
        for (index, quantity) in quantities.enumerated() {
            if index > 0 { buffer.append(",") }
            let series = quantity.series
            buffer.append("\"\(quantity.name)\":{\"first\":\(series.first),\"median\":\(series.median),\"last\":")
            buffer.append(
                "\(series.last),\"maximum\":\(series.maximum),\"flat\":\(series.isFlat(slack: quantity.slack))}"
            )
        }
        buffer.append("},\"books_read\":\(result.booksRead),\"balanced\":\(result.books.isBalanced),\"notes\":")
        append(result.notes, to: &buffer)
        buffer.append(",\"problems\":")
        append(result.problems, to: &buffer)
        buffer.append(",\"good\":\(result.isGood)}")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private func append(_ texts: [String], to buffer: inout ByteBuffer) {
        buffer.append("[")
        for (index, text) in texts.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.append(jsonString: text)
        }
        buffer.append("]")
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The words of a progress bar and of a summary.
package enum ProgressText {
    /// `drain [#####     ] 1,234 of 31,106 events  41,000/s  0:12 left`, cut to `width`.
    package static func line(
        _ title: String,
        _ done: Int,
        _ total: Int?,
        _ unit: String,
        seconds: Double,
        width: Int
    ) -> String {
        let rate = seconds > 0 ? Double(done) / seconds : 0
        var tail = "\(grouped(done))"
        if let total { tail += " of \(grouped(max(total, done)))" }
        tail += " \(unit)  \(grouped(Int(rate)))/s"
        guard let total, total > 0 else { return String("\(title) \(tail)".prefix(width - 1)) }
        if done > 0 && rate > 0 && done < total { tail += "  \(clock(Double(total - done) / rate)) left" }
        let room = min(40, width - 1 - title.count - tail.count - 4)
        guard room >= 5 else { return String("\(title) \(tail)".prefix(width - 1)) }
        let filled = min(room, room * done / max(total, 1))
        let bar = String(repeating: "#", count: filled) + String(repeating: " ", count: room - filled)
        return "\(title) [\(bar)] \(tail)"
    }

    /// `12,345`.
    package static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number.magnitude).reversed().enumerated() {
            if index > 0 && index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "-" : "") + String(text.reversed())
    }

    /// `1 record`, `12,345 records`.
    package static func counted(_ number: Int, _ noun: String) -> String {
        "\(grouped(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// `0:12`, `3:07`, `2:03:07`.
    package static func clock(_ seconds: Double) -> String {
        let whole = Int(min(seconds.rounded(.up), 1e9))
        let tail = whole % 60 < 10 ? "0\(whole % 60)" : "\(whole % 60)"
        if whole < 3600 { return "\(whole / 60):\(tail)" }
        let minutes = whole / 60 % 60
        return "\(whole / 3600):\(minutes < 10 ? "0" : "")\(minutes):\(tail)"
    }

    /// `1.5 MiB`.
    package static func bytes(_ count: Int) -> String {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
        var value = Double(count)
        var index = 0
        while value >= 1024 && index < units.count - 1 {
            value /= 1024
            index += 1
        }
        if index == 0 { return "\(count) bytes" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[index])"
    }

    /// `12.3 s`, `3:07`.
    package static func elapsed(_ seconds: Double) -> String {
        guard seconds < 60 else { return clock(seconds) }
        let tenths = Int((seconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) s"
    }
}

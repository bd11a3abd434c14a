// SPDX-License-Identifier: Apache-2.0

/// A moment as people write it, always UTC: `2026-11-30T06:19:03Z`.
package struct CalendarTime: Hashable, Sendable {
    package var year: Int
    package var month: Int
    package var day: Int
    package var hour: Int
    package var minute: Int
    package var second: Int

    package init(secondsSince1970 seconds: Int) {
        let days = floorDivide(seconds, 86400)
        let rest = seconds - days * 86400
        // Days to civil date: https://howardhinnant.github.io/date_algorithms.html#civil_from_days
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
    }

    /// Reads `2026-11-30`, `2026-11-30T06:19:03Z` or the same with a space, with `+HH:MM` instead of `Z`, or a fraction of
    /// a second, which is dropped; a time without a zone is UTC.
    ///
    /// - Returns: Unix seconds, or nil when the text is something else or names no real moment.
    package static func seconds(parsing text: String) -> Int? {
        var scanner = Scanner(rest: Array(text.utf8)[...])
        guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2), scanner.take("-"),
            let day = scanner.number(2)
        else { return nil }
        var time = 0
        if !scanner.rest.isEmpty {
            guard scanner.take("T") || scanner.take("t") || scanner.take(" "), let clock = scanner.timeOfDay() else {
                return nil
            }
            time = clock
        }
        guard scanner.rest.isEmpty else { return nil }
        let midnight = daysSince1970(year: year, month: month, day: day) * 86400
        let read = CalendarTime(secondsSince1970: midnight)
        guard read.year == year, read.month == month, read.day == day else { return nil }
        return midnight + time
    }

    /// Days from 1970-01-01 to a date of the Gregorian calendar.
    package static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = floorDivide(shiftedYear, 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// `2026-11-30T06:19:03Z`, or with three digits of milliseconds.
    package static func text(milliseconds: Int64, fraction: Bool = true) -> String {
        let seconds = floorDivide(Int(milliseconds), 1000)
        let time = CalendarTime(secondsSince1970: seconds)
        var text = "\(padded(time.year, 4))-\(padded(time.month, 2))-\(padded(time.day, 2))"
        text += "T\(padded(time.hour, 2)):\(padded(time.minute, 2)):\(padded(time.second, 2))"
        if fraction { text += ".\(padded(Int(milliseconds) - seconds * 1000, 3))" }
        return text + "Z"
    }

    /// `2026-11-30T06:19:03Z`; what four digits of a year cannot tell becomes the nearest moment that they can.
    package static func text(seconds: Int) -> String {
        let told = min(max(seconds, -62_167_219_200), 253_402_300_799)
        return text(milliseconds: Int64(told) * 1000, fraction: false)
    }

    private struct Scanner {
        var rest: ArraySlice<UInt8>

        mutating func take(_ character: Character) -> Bool {
            guard let first = rest.first, first == character.asciiValue else { return false }
            rest.removeFirst()
            return true
        }

        mutating func number(_ digits: Int) -> Int? {
            guard rest.count >= digits else { return nil }
            var value = 0
            for byte in rest.prefix(digits) {
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            rest.removeFirst(digits)
            return value
        }

        mutating func timeOfDay() -> Int? {
            guard let hour = number(2), take(":"), let minute = number(2), hour < 24, minute < 60 else { return nil }
            var second = 0
            if take(":") {
                guard let value = number(2), value < 60 else { return nil }
                second = value
                if take(".") { rest = rest.drop { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") } }
            }
            let time = hour * 3600 + minute * 60 + second
            if rest.isEmpty || take("Z") || take("z") { return time }
            let sign = take("+") ? 1 : take("-") ? -1 : 0
            guard sign != 0, let zoneHour = number(2), take(":"), let zoneMinute = number(2) else { return nil }
            return time - sign * (zoneHour * 3600 + zoneMinute * 60)
        }
    }
}

private func floorDivide(_ value: Int, _ divisor: Int) -> Int {
    value >= 0 ? value / divisor : (value - divisor + 1) / divisor
}

private func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

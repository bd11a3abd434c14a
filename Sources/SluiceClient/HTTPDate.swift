// SPDX-License-Identifier: Apache-2.0

/// The three forms of a date that HTTP knows: RFC 9110, section 5.6.7.
package enum HTTPDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Unix seconds of a field's value, or nil when it is no date.
    package static func seconds(_ value: String) -> Int? {
        let words = value.utf8.split { [UInt8(ascii: " "), UInt8(ascii: ","), UInt8(ascii: "-")].contains($0) }
            .map { String(decoding: Array($0), as: UTF8.self) }
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
        case 6 where words[5] == "GMT": return moment(words[3], words[2], words[1], time: words[4])
        // Sun Nov  6 08:49:37 1994
        case 5: return moment(words[4], words[1], words[2], time: words[3])
        default: return nil
        }
    }

    private static func moment(_ year: String, _ month: String, _ day: String, time: String) -> Int? {
        guard var year = number(year), let month = months.firstIndex(of: month.lowercased()), let day = number(day),
            (1...31).contains(day)
        else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        let clock = time.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .map { number(String(decoding: Array($0), as: UTF8.self)) }
        guard (1970...9999).contains(year), clock.count == 3, let hour = clock[0], let minute = clock[1],
            let second = clock[2], hour < 24, minute < 60, second <= 60
        else { return nil }
        return days(year: year, month: month + 1, day: day) * 86400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: String) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }

    /// Days from 1970-01-01 to a date of the Gregorian calendar, by counting years from March.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}

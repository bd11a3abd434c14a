// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Reads the Retry-After field: RFC 9110, section 10.2.3.
package enum RetryAfter {
    /// A longer wish is taken as this.
    package static let longest: Duration = .seconds(3600)

    /// Reads a field's value.
    ///
    /// - Parameters:
    ///   - value: seconds, or any of the three forms of an HTTP date.
    ///   - now: Unix seconds that a date is compared with.
    /// - Returns: how long to wait; nil when the value is neither, or asks for no wait at all.
    package static func duration(_ value: String, now: Int) -> Duration? {
        let text = Array(value.utf8)
        guard let first = text.first else { return nil }
        if text.allSatisfy(isDigit) {
            let seconds = text.count > 9 ? .max : number(text[...]) ?? 0
            return bounded(seconds)
        }
        guard isLetter(first), let date = seconds(ofDate: text) else { return nil }
        return bounded(date - now)
    }

    private static func bounded(_ seconds: Int) -> Duration? {
        seconds > 0 ? min(.seconds(min(seconds, 86400)), longest) : nil
    }

    private static func seconds(ofDate text: [UInt8]) -> Int? {
        let words = text.split {
            $0 == 0x20 || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ":")
        }
        switch words.count {
        case 8:  // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
            guard words[7].elementsEqual("GMT".utf8) || words[7].elementsEqual("UTC".utf8) else { return nil }
            return moment(year: words[3], month: words[2], day: words[1], time: words[4...6])
        case 7:  // Sun Nov  6 08:49:37 1994
            return moment(year: words[6], month: words[1], day: words[2], time: words[3...5])
        default: return nil
        }
    }

    private static func moment(
        year: ArraySlice<UInt8>,
        month: ArraySlice<UInt8>,
        day: ArraySlice<UInt8>,
        time: ArraySlice<ArraySlice<UInt8>>
    ) -> Int? {
        guard var year = number(year), let month = self.month(month), let day = number(day), (1...31).contains(day)
        else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        guard (1970...9999).contains(year) else { return nil }
        var seconds = CalendarTime.daysSince1970(year: year, month: month, day: day) * 86400
        for (word, (limit, unit)) in zip(time, [(23, 3600), (59, 60), (60, 1)]) {
            guard let value = number(word), value <= limit else { return nil }
            seconds += value * unit
        }
        return seconds
    }

    private static func month(_ word: ArraySlice<UInt8>) -> Int? {
        let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        let index = names.firstIndex { name in name.utf8.elementsEqual(word.map { $0 | 0x20 }) }
        return index.map { $0 + 1 }
    }

    private static func number(_ word: ArraySlice<UInt8>) -> Int? {
        guard !word.isEmpty, word.count <= 9, word.allSatisfy(isDigit) else { return nil }
        return word.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

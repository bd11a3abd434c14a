// SPDX-License-Identifier: Apache-2.0

/// Reads the Retry-After field: RFC 9110, section 10.2.3.
package enum RetryAfter {
    /// Seconds to wait, from 1 to 3600, whatever more or less is asked for.
    ///
    /// - Parameters:
    ///   - value: seconds, or any of the three forms of an HTTP date.
    ///   - now: Unix seconds that a date is compared with: the answer's own `Date` if it has one.
    /// - Returns: nil when the value is neither.
    package static func seconds(_ value: String, now: Int) -> Int? {
        let digits = value.utf8
        if !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            return digits.count > 9 ? 3600 : bounded(Int(value) ?? 3600)
        }
        return HTTPDate.seconds(value).map { bounded($0 - now) }
    }

    private static func bounded(_ seconds: Int) -> Int { min(max(seconds, 1), 3600) }
}

// SPDX-License-Identifier: Apache-2.0

/// Numbers as JavaScript writes them (ECMA-262, `Number::toString`; RFC 8785), so that every client writes the same bytes.
package enum NumberText {
    /// The whole numbers that a double holds without a neighbour that rounds to it.
    package static let exactIntegers = -9_007_199_254_740_991...9_007_199_254_740_991

    /// Whether every reader takes a number's text for the same number: digits alone must be exact.
    ///
    /// Of whole numbers in digits beyond 64 bits the endpoint would refuse the event; from 1e21 on the text has an exponent.
    package static func isKept(_ number: Double) -> Bool {
        number.isFinite && (number.magnitude <= Double(exactIntegers.upperBound) || number.magnitude >= 1e21)
    }

    /// The text of a number, or nil for an infinity or NaN; `-0` is `0`.
    package static func text(_ number: Double) -> String? {
        guard number.isFinite else { return nil }
        if let whole = Int(exactly: number), exactIntegers.contains(whole) { return String(whole) }
        let (digits, point) = decimal(number.magnitude)
        return (number < 0 ? "-" : "") + layOut(digits, point)
    }

    /// The shortest digits that read back as the number, and where the point stands: 0.d1d2… times 10 to the `point`.
    private static func decimal(_ number: Double) -> (digits: [UInt8], point: Int) {
        var digits: [UInt8] = []
        var point = 0
        var exponent = 0
        var isPastPoint = false
        let text = Array(number.description.utf8)
        for (index, byte) in text.enumerated() {
            if byte == UInt8(ascii: ".") {
                isPastPoint = true
            } else if byte == UInt8(ascii: "e") {
                exponent = Int(String(decoding: text[(index + 1)...], as: UTF8.self)) ?? 0
                break
            } else {
                // Zeros in front are no digits, but behind the point they move it.
                if digits.isEmpty && byte == UInt8(ascii: "0") {
                    if isPastPoint { point -= 1 }
                    continue
                }
                digits.append(byte)
                if !isPastPoint { point += 1 }
            }
        }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        return (digits, point + exponent)
    }

    private static func layOut(_ digits: [UInt8], _ point: Int) -> String {
        let text = String(decoding: digits, as: UTF8.self)
        let count = digits.count
        if count <= point && point <= 21 { return text + String(repeating: "0", count: point - count) }
        if 0 < point && point <= 21 { return "\(text.prefix(point)).\(text.dropFirst(point))" }
        if -6 < point && point <= 0 { return "0." + String(repeating: "0", count: -point) + text }
        let exponent = point - 1
        let mantissa = count == 1 ? text : "\(text.prefix(1)).\(text.dropFirst(1))"
        return "\(mantissa)e\(exponent < 0 ? "-" : "+")\(exponent.magnitude)"
    }
}

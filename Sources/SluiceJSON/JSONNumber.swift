// SPDX-License-Identifier: Apache-2.0

/// JSON's number grammar, for text that is not a token of a parsed document.
package enum JSONNumber {
    /// Where the number that begins at `start` ends and whether it is without fraction and exponent; nil when none does.
    static func extent(in bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isWhole: Bool)? {
        var position = start
        var isWhole = true
        func isDigit() -> Bool { position < bytes.count && bytes[position] &- UInt8(ascii: "0") < 10 }
        func digits() -> Bool {
            guard isDigit() else { return false }
            while isDigit() { position += 1 }
            return true
        }
        func take(_ byte: UInt8) -> Bool {
            guard position < bytes.count, bytes[position] == byte else { return false }
            position += 1
            return true
        }
        _ = take(UInt8(ascii: "-"))
        guard take(UInt8(ascii: "0")) || digits() else { return nil }
        if take(UInt8(ascii: ".")) {
            isWhole = false
            guard digits() else { return nil }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isWhole = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() else { return nil }
        }
        // A digit here follows a leading zero.
        return isDigit() ? nil : (position, isWhole)
    }

    /// Whether a number of the grammar can be kept: inside Int64 or UInt64 when whole, else a finite double.
    static func fits(_ text: UnsafeRawBufferPointer, isWhole: Bool) -> Bool {
        if isWhole && text.count <= 18 { return true }
        let text = String(decoding: text, as: UTF8.self)
        return isWhole ? UInt64(text) != nil || Int64(text) != nil : Double(text)?.isFinite == true
    }

    /// Whether `text` is exactly one number that the parser would take.
    package static func isKept(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let (end, isWhole) = extent(in: text, from: 0), end == text.count else { return false }
        return fits(text, isWhole: isWhole)
    }

    /// The nearest double of a number of the grammar; infinite when it is out of range.
    package static func double(_ text: UnsafeRawBufferPointer) -> Double {
        Double(String(decoding: text, as: UTF8.self)) ?? .nan
    }
}

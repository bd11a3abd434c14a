// SPDX-License-Identifier: Apache-2.0
internal import Glibc

extension UnsafeRawBufferPointer {
    @inline(__always)
    func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        guard let baseAddress else { return true }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }

    @inline(__always)
    func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let baseAddress, let start = other.baseAddress else { return true }
        return memcmp(baseAddress, start, count) == 0
    }

    @inline(__always)
    func has(_ byte: UInt8) -> Bool {
        guard let baseAddress else { return false }
        return memchr(baseAddress, Int32(byte), count) != nil
    }

    /// Unicode scalars of UTF-8 text.
    var scalarCount: Int { reduce(into: 0) { count, byte in if byte & 0xC0 != 0x80 { count += 1 } } }

    /// Whether UTF-8 text has at most `limit` Unicode scalars.
    @inline(__always)
    func hasAtMost(scalars limit: Int) -> Bool { count <= limit || scalarCount <= limit }

    /// Whether UTF-8 text contains something like an e-mail address.
    ///
    /// That is `@`, or `%40` as in URLs, with a letter or digit before it, and behind it a host name with a dot
    /// whose last label has two letters or more; bytes outside ASCII count as letters.
    var looksLikeEmail: Bool {
        if has(UInt8(ascii: "@")) && hasAddress(at: [UInt8(ascii: "@")]) { return true }
        return has(UInt8(ascii: "%")) && hasAddress(at: Array("%40".utf8))
    }

    private func hasAddress(at sign: [UInt8]) -> Bool {
        var position = 0
        while position + sign.count <= count {
            defer { position += 1 }
            guard position > 0, self[position] == sign[0], self[position...].starts(with: sign) else { continue }
            // The local part may end in any of these: a plus tag's letter, a dot is not allowed at its end.
            guard self[position - 1].isLetterOrDigit || [0x5F, 0x2D, 0x2B].contains(self[position - 1]) else {
                continue
            }
            var end = position + sign.count
            var label = 0
            var labels = 0
            var letters = 0
            while end < count {
                let byte = self[end]
                if byte.isLetterOrDigit || byte == UInt8(ascii: "-") {
                    label += 1
                    if byte.isLetter { letters += 1 }
                } else if byte == UInt8(ascii: "."), label > 0 {
                    // A dot at the end of a sentence begins no label.
                    guard end + 1 < count, self[end + 1].isLetterOrDigit else { break }
                    labels += 1
                    label = 0
                    letters = 0
                } else {
                    break
                }
                end += 1
            }
            if labels > 0 && letters >= 2 { return true }
        }
        return false
    }
}

extension UInt8 {
    var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) || self >= 0x80 }
    var isLetterOrDigit: Bool { isLetter || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}

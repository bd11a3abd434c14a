// SPDX-License-Identifier: Apache-2.0

/// Finds what looks like an e-mail address, as the endpoint does.
package enum EmailLike {
    /// Whether a text contains `@`, or `%40` as in URLs, with a letter or digit before it, and behind it a host name with a
    /// dot whose last label has two letters or more; bytes outside ASCII count as letters.
    package static func isFound(in text: String) -> Bool {
        let bytes = Array(text.utf8)
        return isFound(in: bytes, sign: Array("@".utf8)) || isFound(in: bytes, sign: Array("%40".utf8))
    }

    private static func isFound(in bytes: [UInt8], sign: [UInt8]) -> Bool {
        guard bytes.contains(sign[0]) else { return false }
        return bytes.indices.dropFirst().contains { place in
            bytes[place] == sign[0] && bytes[place...].starts(with: sign) && endsLocalPart(bytes[place - 1])
                && isHostName(bytes[(place + sign.count)...])
        }
    }

    private static func endsLocalPart(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+")].contains(byte)
    }

    private static func isHostName(_ bytes: ArraySlice<UInt8>) -> Bool {
        let name = bytes.prefix { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
        // A label must follow its dot at once, and a dot at the end of a sentence begins none.
        var labels: [ArraySlice<UInt8>] = []
        for label in name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard let first = label.first, labels.isEmpty || isLetterOrDigit(first) else { break }
            labels.append(label)
        }
        return labels.count > 1 && (labels.last?.count { isLetter($0) } ?? 0) >= 2
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte >= 0x80
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

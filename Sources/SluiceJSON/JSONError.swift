// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not a JSON document that can be kept exactly, and where.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// Nothing, or only white space.
        case empty
        /// Longer than the parser's limit.
        case tooLarge = "too_large"
        case outOfMemory = "out_of_memory"
        /// More nested brackets than the parser's limit.
        case tooDeep = "too_deep"
        /// An escape that does not exist, or half a surrogate pair.
        case invalidString = "invalid_string"
        /// Not a number by JSON's grammar, or one that cannot be kept: outside UInt64 or a double's range.
        case invalidNumber = "invalid_number"
        case invalidUTF8 = "invalid_utf8"
        /// A raw byte below 0x20 inside a string.
        case controlCharacter = "control_character"
        case unclosedString = "unclosed_string"
        /// UTF-8's byte order mark at the start.
        case byteOrderMark = "byte_order_mark"
        /// Something behind the end of the document.
        case trailingBytes = "trailing_bytes"
        /// Any other breach of the grammar.
        case syntax
    }

    package var code: Code
    /// Where in the source, when that is known.
    package var byteOffset: Int?

    package init(_ code: Code, byteOffset: Int? = nil) {
        self.code = code
        self.byteOffset = byteOffset
    }

    /// Whether the fault lies in one value, so that the values around it may still be good.
    package var concernsOneValue: Bool {
        switch code {
        case .tooDeep, .invalidString, .invalidNumber: true
        default: false
        }
    }

    package var description: String {
        let place = byteOffset.map { " at byte \($0)" } ?? ""
        return "not acceptable JSON: \(code.rawValue)\(place)"
    }
}

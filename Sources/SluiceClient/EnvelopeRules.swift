// SPDX-License-Identifier: Apache-2.0

/// What names, identifiers and values may look like: the endpoint's rules, checked before anything is stored.
package enum EnvelopeRules {
    /// Properties that an event may have.
    package static let maximumProperties = 64
    /// Experiments that an event may carry.
    package static let maximumExperiments = 16

    /// Whether a text names an event, a property, an experiment or a purpose: `[a-z][a-z0-9_]{0,63}`.
    ///
    /// So that names order alike in every language, and none has a twin in another Unicode form.
    package static func isName(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, isLower(first), bytes.count <= 64 else { return false }
        return bytes.allSatisfy { isLower($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// Whether an id is opaque: 1 to 100 characters, none of them a control character or `@`.
    package static func isIdentifier(_ text: String) -> Bool {
        isText(text, limit: 100) && !text.utf8.contains(UInt8(ascii: "@"))
    }

    /// Whether a text is 1 to 50 characters without control characters.
    package static func isVersion(_ text: String) -> Bool { isText(text, limit: 50) }

    /// Whether a property's value can be written.
    package static func isWritable(_ value: SluiceValue) -> Bool {
        switch value {
        case .string(let text): !text.utf8.contains(0)
        case .number(let number): NumberText.isKept(number)
        case .integer(let number): NumberText.exactIntegers.contains(number)
        case .bool: true
        }
    }

    private static func isText(_ text: String, limit: Int) -> Bool {
        guard !text.isEmpty, text.unicodeScalars.count <= limit else { return false }
        return !text.utf8.contains { $0 < 0x20 }
    }

    private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

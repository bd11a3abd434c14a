// SPDX-License-Identifier: Apache-2.0

/// One value or object key of a parsed document, as offsets into its source.
///
/// An object's children are key, value, key, value and so on; a key is a token of kind `string`. Values nest by
/// `next`: the children of a container stand between its own index and its `next`.
package struct JSONToken {
    package enum Kind: UInt8, Sendable {
        case object, array, string
        /// A number without fraction and exponent that fits Int64 or UInt64.
        case integer
        /// A number with a fraction or an exponent.
        case number
        case `true`, `false`, null
    }

    // The order of the stored properties is the layout of sluice_json_token.

    /// Offset of the first byte in the source; for strings, of the byte after the opening quote.
    @usableFromInline package var start: UInt32
    /// Bytes in the source; for strings without the quotes and still escaped, for containers with both brackets.
    @usableFromInline package var length: UInt32
    /// Index of the token behind this value and all its children.
    @usableFromInline package var next: UInt32
    /// Strings: where the unescaped text stands in the parser's own memory.
    @usableFromInline var text: UInt32
    @usableFromInline package var kind: Kind
    /// Whether the source of a string or key contains a backslash.
    @usableFromInline package var hasEscapes: Bool

    @inlinable package var isContainer: Bool { kind == .object || kind == .array }
    @inlinable package var isNumeric: Bool { kind == .integer || kind == .number }
    @inlinable package var isBoolean: Bool { kind == .true || kind == .false }
}

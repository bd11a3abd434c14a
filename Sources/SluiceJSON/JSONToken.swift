// SPDX-License-Identifier: Apache-2.0

/// One value or object key of a parsed document, as offsets into its source.
///
/// An object's children are key, value, key, value and so on; a key is a token of kind `string`. Values nest by
/// `next`: the children of a container stand between its own index and its `next`.
///
/// Public, like `JSONDocument`, only because the compiler (6.3) inlines no member of a package type into another
/// module, inlinable or not; a call for each look at a token costs as much as the rest of judging an event.
public struct JSONToken {
    /// What a value is.
    public enum Kind: UInt8, Sendable {
        case object, array, string
        /// A number without fraction and exponent that fits Int64 or UInt64.
        case integer
        /// A number with a fraction or an exponent.
        case number
        case `true`, `false`, null

        /// The derived one is not inlined into other modules.
        @inlinable @inline(__always)
        public static func == (one: Kind, other: Kind) -> Bool {
            unsafeBitCast(one, to: UInt8.self) == unsafeBitCast(other, to: UInt8.self)
        }
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

    @inlinable @inline(__always) package var isContainer: Bool { kind == .object || kind == .array }
    @inlinable @inline(__always) package var isNumeric: Bool { kind == .integer || kind == .number }
    @inlinable @inline(__always) package var isBoolean: Bool { kind == .true || kind == .false }
}

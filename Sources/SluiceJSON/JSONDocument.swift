// SPDX-License-Identifier: Apache-2.0

/// A view of one parsed document: its source, its tokens and the text of its strings.
///
/// Valid until the parser's next parse and while the source's memory stays; it keeps the parser itself alive.
public struct JSONDocument {
    /// The bytes that were parsed.
    @usableFromInline package let source: UnsafeRawBufferPointer
    /// Number of tokens; at least one, the root at index 0.
    @usableFromInline package let count: Int
    @usableFromInline let tokens: UnsafePointer<JSONToken>
    @usableFromInline let texts: UnsafeRawPointer
    private let parser: JSONParser

    init(
        source: UnsafeRawBufferPointer,
        tokens: UnsafePointer<JSONToken>,
        count: Int,
        texts: UnsafeRawPointer,
        parser: JSONParser
    ) {
        self.source = source
        self.tokens = tokens
        self.count = count
        self.texts = texts
        self.parser = parser
    }

    @inlinable @inline(__always) package subscript(index: Int) -> JSONToken {
        assert(index >= 0 && index < count, "no such token")
        return tokens[index]
    }

    /// The source text of a value: strings without their quotes and still escaped, containers with their brackets.
    @inlinable @inline(__always) package func raw(_ token: JSONToken) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: source.baseAddress.unsafelyUnwrapped + Int(token.start), count: Int(token.length))
    }

    /// The unescaped bytes of a string or key, UTF-8; nothing is copied.
    @inlinable @inline(__always) package func text(_ token: JSONToken) -> UnsafeRawBufferPointer {
        assert(token.kind == .string, "only strings have text")
        let start = texts + Int(token.text)
        return UnsafeRawBufferPointer(start: start, count: Int((start - 4).loadUnaligned(as: UInt32.self)))
    }

    /// The unescaped text of a string or key as a Swift string.
    package func string(_ token: JSONToken) -> String { String(decoding: text(token), as: UTF8.self) }

    /// The value of a whole number that fits `Int`, else nil.
    @inlinable package func integer(_ token: JSONToken) -> Int? {
        guard token.kind == .integer else { return nil }
        var digits = raw(token)
        let isNegative = digits[0] == UInt8(ascii: "-")
        if isNegative { digits = UnsafeRawBufferPointer(rebasing: digits[1...]) }
        var value = 0
        if digits.count <= 18 {
            for digit in digits { value = value &* 10 &+ Int(digit &- UInt8(ascii: "0")) }
            return isNegative ? -value : value
        }
        for digit in digits {
            let (scaled, overflowed) = value.multipliedReportingOverflow(by: 10)
            let next = Int(digit &- UInt8(ascii: "0"))
            let (sum, overflowedAgain) =
                isNegative ? scaled.subtractingReportingOverflow(next) : scaled.addingReportingOverflow(next)
            if overflowed || overflowedAgain { return nil }
            value = sum
        }
        return value
    }

    /// The nearest double of a number.
    package func double(_ token: JSONToken) -> Double {
        assert(token.isNumeric, "only numbers have a double")
        if let whole = integer(token) { return Double(whole) }
        return JSONNumber.double(raw(token))
    }

    /// Whether the unescaped text of a string or key is exactly `text`.
    @inlinable package func text(_ token: JSONToken, equals text: StaticString) -> Bool {
        let bytes = self.text(token)
        // Most names that are not the one that is looked for have another length.
        return bytes.count == text.utf8CodeUnitCount
            && bytes.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The index of the value of the first member named `key`, or nil; names compare as bytes.
    @inlinable package func value(of key: StaticString, in object: Int) -> Int? {
        for member in members(of: object) where text(self[member.key], equals: key) { return member.value }
        return nil
    }

    /// The members of an object in source order, duplicates included; nothing for other kinds.
    @inlinable @inline(__always) package func members(of object: Int) -> Members {
        let token = self[object]
        return Members(tokens: tokens, index: object + 1, end: token.kind == .object ? Int(token.next) : object + 1)
    }

    /// The elements of an array in source order; nothing for other kinds.
    @inlinable @inline(__always) package func elements(of array: Int) -> Elements {
        let token = self[array]
        return Elements(tokens: tokens, index: array + 1, end: token.kind == .array ? Int(token.next) : array + 1)
    }

    /// Token indexes of an object's keys and values.
    public struct Members: Sequence, IteratorProtocol {
        @usableFromInline let tokens: UnsafePointer<JSONToken>
        @usableFromInline var index: Int
        @usableFromInline let end: Int

        @usableFromInline init(tokens: UnsafePointer<JSONToken>, index: Int, end: Int) {
            self.tokens = tokens
            self.index = index
            self.end = end
        }

        /// The next key and value.
        @inlinable @inline(__always) public mutating func next() -> (key: Int, value: Int)? {
            guard index < end else { return nil }
            let key = index
            index = Int(tokens[key + 1].next)
            return (key, key + 1)
        }
    }

    /// Token indexes of an array's elements.
    public struct Elements: Sequence, IteratorProtocol {
        @usableFromInline let tokens: UnsafePointer<JSONToken>
        @usableFromInline var index: Int
        @usableFromInline let end: Int

        @usableFromInline init(tokens: UnsafePointer<JSONToken>, index: Int, end: Int) {
            self.tokens = tokens
            self.index = index
            self.end = end
        }

        /// The next element.
        @inlinable @inline(__always) public mutating func next() -> Int? {
            guard index < end else { return nil }
            let element = index
            index = Int(tokens[element].next)
            return element
        }
    }
}

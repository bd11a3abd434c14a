// SPDX-License-Identifier: Apache-2.0

/// A value of a JSON5 text that people write, such as the configuration or a contract, and the line it stands on.
///
/// Foundation reads JSON5 too, but tells neither where a text is broken nor that a key stands twice, folds keys that
/// only look alike, and takes numbers it must round. https://spec.json5.org
package struct JSON5: Sendable {
    package enum Value: Sendable {
        case null
        case boolean(Bool)
        case integer(Int)
        case number(Double)
        case string(String)
        case array([JSON5])
        case object([Member])
    }

    package struct Member: Sendable {
        package var key: String
        /// Where the key stands, from 1.
        package var line: Int
        package var value: JSON5
    }

    package var value: Value
    /// Where the value begins, from 1.
    package var line: Int

    /// Reads a whole text.
    ///
    /// - Throws: what is wrong and where, for the first fault; every text that a reader of the specification takes is
    ///   taken, except a key that stands twice in one object, infinities and NaN, and more than 64 levels.
    package init(parsing text: [UInt8]) throws(JSON5Error) {
        var reader = JSON5Reader(text)
        self = try reader.document()
    }

    package init(value: Value, line: Int = 1) {
        self.value = value
        self.line = line
    }

    /// The value's kind as a message names it.
    package var kindName: String {
        switch value {
        case .null: "null"
        case .boolean: "true or false"
        case .integer: "a whole number"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

/// Why a JSON5 text cannot be read.
package struct JSON5Error: Error, Hashable, Sendable, CustomStringConvertible {
    /// From 1.
    package var line: Int
    /// In bytes, from 1.
    package var column: Int
    package var reason: String

    package var description: String { "line \(line), column \(column): \(reason)" }
}

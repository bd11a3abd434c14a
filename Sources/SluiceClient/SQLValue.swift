// SPDX-License-Identifier: Apache-2.0

/// A value that goes into a statement.
package enum SQLValue: Sendable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])

    static func text(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    static func integer(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
    static func integer(_ number: Int) -> SQLValue { .integer(Int64(number)) }
}

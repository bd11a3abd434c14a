// SPDX-License-Identifier: Apache-2.0

/// A property's value: a string, a number or a truth value, as the endpoint's contract knows them.
public enum SluiceValue: Hashable, Sendable {
    /// A text; one that contains a NUL cannot be sent.
    case string(String)
    /// A number; infinities and NaN cannot be sent, nor what is written as more digits than `integer` takes.
    case number(Double)
    /// A whole number from -(2^53 - 1) to 2^53 - 1; others cannot be sent, because JavaScript would round them.
    case integer(Int)
    /// True or false.
    case bool(Bool)
}

extension SluiceValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// Makes a text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension SluiceValue: ExpressibleByIntegerLiteral {
    /// Makes a whole number.
    public init(integerLiteral value: Int) { self = .integer(value) }
}

extension SluiceValue: ExpressibleByFloatLiteral {
    /// Makes a number.
    public init(floatLiteral value: Double) { self = .number(value) }
}

extension SluiceValue: ExpressibleByBooleanLiteral {
    /// Makes a truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

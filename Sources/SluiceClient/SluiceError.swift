// SPDX-License-Identifier: Apache-2.0

/// What a caller of the client did wrong, or has to try again.
public struct SluiceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of problem it is.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's stable word.
        public let rawValue: String

        /// Makes a code from its word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A value of the configuration breaks its rule.
        public static let invalidConfiguration = Code(rawValue: "invalid_configuration")
        /// An id is empty, longer than 100 characters, holds a control character or looks like an e-mail address.
        public static let invalidIdentifier = Code(rawValue: "invalid_identifier")
        /// An experiment's name or variant breaks its rule, or there are more than 16.
        public static let invalidExperiments = Code(rawValue: "invalid_experiments")
        /// The local contract cannot be read.
        public static let invalidContract = Code(rawValue: "invalid_contract")
        /// The change holds in this process, but could not be written down yet; the client tries again by itself.
        public static let storage = Code(rawValue: "storage")
    }

    /// What kind of problem it is.
    public var code: Code
    /// Which value is wrong, without the value.
    public var detail: String

    init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// A sentence for developers.
    public var description: String { "\(code.rawValue): \(detail)" }
}

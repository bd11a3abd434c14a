// SPDX-License-Identifier: Apache-2.0

/// Why a line of a segment is not a record; such a line belongs into quarantine.
package struct RecordError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case notAnObject = "not_an_object"
        case missingMember = "missing_member"
        /// A member has a value of the wrong type.
        case invalidMember = "invalid_member"
        /// A member stands twice, and nobody can say which is meant.
        case repeatedMember = "repeated_member"
    }

    package var code: Code
    /// Which member, as a dotted path.
    package var member: String

    package init(code: Code, member: String) {
        self.code = code
        self.member = member
    }

    package var description: String {
        code == .notAnObject ? "a record must be an object" : "record: \(code.rawValue) \(member)"
    }
}

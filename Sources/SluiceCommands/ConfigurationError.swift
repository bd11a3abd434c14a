// SPDX-License-Identifier: Apache-2.0

/// Everything that is wrong with the settings, a line for each; nothing was touched.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Sentences that name the key and where it stands.
    package var problems: [String]

    package init(_ problems: [String]) {
        self.problems = problems
    }

    package var description: String { problems.joined(separator: "\n") }
}

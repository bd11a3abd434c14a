// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem

/// The variables that this process was started with.
package enum ProcessEnvironment {
    /// A copy; the first of two variables of one name wins, as with `getenv(3)`.
    package static var current: [String: String] {
        var variables: [String: String] = [:]
        guard var entry = sluice_environment() else { return variables }
        while let text = entry.pointee {
            let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, variables[String(parts[0])] == nil { variables[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return variables
    }
}

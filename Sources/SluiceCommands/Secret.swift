// SPDX-License-Identifier: Apache-2.0

/// A text that never shows itself in logs, status or errors.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text; only for the place that needs it.
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

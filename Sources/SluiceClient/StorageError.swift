// SPDX-License-Identifier: Apache-2.0

/// Why SQLite did not do what it was asked.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// Nothing is wrong with the file: locked, full, unreadable for now. It is tried again, and nothing is deleted.
        case passing
        /// The file is damaged, or no database.
        case damaged
        /// A newer version of this library wrote the file; it stays as it is.
        case newer
        /// There is no file, and none may be made.
        case absent
    }

    package var kind: Kind
    /// SQLite's result code, or 0.
    package var code: Int32
    package var detail: String

    package var description: String { "\(detail) (\(code))" }
}

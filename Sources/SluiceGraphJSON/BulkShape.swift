// SPDX-License-Identifier: Apache-2.0

/// How events are put into a logging request; the raw value is what `graphjson.bulk` says in the configuration.
package enum BulkShape: String, Sendable, CaseIterable {
    /// `/api/bulk-log` with one `timestamp` for all events of a request.
    case sharedTimestamp = "shared-timestamp"
    /// `/api/bulk-log` with `timestamps` parallel to `jsons`.
    case timestamps
    /// `/api/log`, one event in a request.
    case single

    /// Most events that GraphJSON takes in one request.
    package static let maximumEvents = 50

    package var maximumEvents: Int { self == .single ? 1 : Self.maximumEvents }

    /// Whether all events of a request must have the same timestamp.
    package var needsEqualTimestamps: Bool { self != .timestamps }
}

// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// Writes what happened for the people who run the programs; a value that is handed in, never global.
///
/// Messages are constant texts and values stand in metadata under dotted names, so that lines can be searched and
/// counted: `logger.warning("Segment quarantined", metadata: ["segment.name": "\(name)"])`. Never an event's content,
/// and no identifier of a person above `debug`. The spelling is swift-log's.
package struct Logger: Sendable {
    package enum Level: String, CaseIterable, Comparable, Sendable {
        case trace
        case debug
        case info
        case notice
        case warning
        case error
        case critical

        package var severity: Int {
            switch self {
            case .trace: 0
            case .debug: 1
            case .info: 2
            case .notice: 3
            case .warning: 4
            case .error: 5
            case .critical: 6
            }
        }

        package static func < (left: Level, right: Level) -> Bool { left.severity < right.severity }
    }

    package typealias Metadata = [String: MetadataValue]

    /// A value beside a message.
    package enum MetadataValue: Hashable, Sendable {
        case string(String)
        case integer(Int)
        case number(Double)
        case boolean(Bool)
    }

    /// One thing to be written.
    package struct Entry: Sendable {
        package var time: Int64
        package var level: Level
        package var label: String
        package var message: String
        package var metadata: Metadata

        package init(time: Int64, level: Level, label: String, message: String, metadata: Metadata) {
            self.time = time
            self.level = level
            self.label = label
            self.message = message
            self.metadata = metadata
        }
    }

    package let label: String
    package var logLevel: Level
    private var metadata: Metadata = [:]
    private let clock: SystemClock
    private let write: @Sendable (Entry) -> Void

    /// Makes a logger that hands every entry at or above its level to `write`.
    package init(
        label: String,
        level: Level = .info,
        clock: SystemClock = .system,
        write: @escaping @Sendable (Entry) -> Void
    ) {
        self.label = label
        logLevel = level
        self.clock = clock
        self.write = write
    }

    /// A logger that drops everything.
    package static let silent = Logger(label: "silent", level: .critical) { _ in }

    /// A value that goes with every message of this logger.
    package subscript(metadataKey key: String) -> MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(
        level: Level,
        _ message: @autoclosure () -> String,
        metadata: @autoclosure () -> Metadata = [:]
    ) {
        guard level >= logLevel else { return }
        let values = self.metadata.merging(metadata()) { $1 }
        write(
            Entry(time: clock.wallMilliseconds(), level: level, label: label, message: message(), metadata: values)
        )
    }

    package func trace(_ message: @autoclosure () -> String, metadata: @autoclosure () -> Metadata = [:]) {
        log(level: .trace, message(), metadata: metadata())
    }

    package func debug(_ message: @autoclosure () -> String, metadata: @autoclosure () -> Metadata = [:]) {
        log(level: .debug, message(), metadata: metadata())
    }

    package func info(_ message: @autoclosure () -> String, metadata: @autoclosure () -> Metadata = [:]) {
        log(level: .info, message(), metadata: metadata())
    }

    package func notice(_ message: @autoclosure () -> String, metadata: @autoclosure () -> Metadata = [:]) {
        log(level: .notice, message(), metadata: metadata())
    }

    package func warning(_ message: @autoclosure () -> String, metadata: @autoclosure () -> Metadata = [:]) {
        log(level: .warning, message(), metadata: metadata())
    }

    package func error(_ message: @autoclosure () -> String, metadata: @autoclosure () -> Metadata = [:]) {
        log(level: .error, message(), metadata: metadata())
    }

    package func critical(_ message: @autoclosure () -> String, metadata: @autoclosure () -> Metadata = [:]) {
        log(level: .critical, message(), metadata: metadata())
    }
}

extension Logger.MetadataValue: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) { self = .string(value) }
}

extension Logger.MetadataValue: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int) { self = .integer(value) }
}

extension Logger.MetadataValue: ExpressibleByFloatLiteral {
    package init(floatLiteral value: Double) { self = .number(value) }
}

extension Logger.MetadataValue: ExpressibleByBooleanLiteral {
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
}

extension Logger.MetadataValue: CustomStringConvertible {
    package var description: String {
        switch self {
        case .string(let value): value
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .boolean(let value): String(value)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem
package import SluiceTelemetry

/// Keeps what is logged, for a test to look at.
package final class LogRecorder: Sendable {
    private let recorded = Lock<[Logger.Entry]>([])

    package init() {}

    /// A logger that writes here.
    package func logger(label: String = "test", level: Logger.Level = .trace) -> Logger {
        Logger(label: label, level: level) { entry in self.recorded.withLock { $0.append(entry) } }
    }

    package var entries: [Logger.Entry] { recorded.withLock { $0 } }

    package var messages: [String] { entries.map(\.message) }
}

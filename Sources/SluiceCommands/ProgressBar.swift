// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem
package import SluiceTelemetry

/// Shows a person how far a long command is: a bar with rate and remaining time on a terminal, nothing otherwise.
///
/// The bar stands on standard error, and goes away when the command ends and prints its one summary line.
package final class ProgressBar: Sendable {
    private struct State {
        var drawnAt: Int64?
        var isFinished = false
    }

    private let title: String
    private let unit: String
    private let startedAt: Int64
    private let descriptor: Int32
    private let isTerminal: Bool
    private let log: LogOutput?
    private let clock: SystemClock
    private let state = Lock(State())

    /// Makes a bar.
    ///
    /// - Parameters:
    ///   - title: what is done, such as `drain`.
    ///   - unit: what is counted, such as `events`.
    ///   - log: its lines clear the bar before they are written.
    ///   - descriptor: the terminal.
    ///   - clock: for rate and remaining time.
    package init(
        _ title: String,
        unit: String = "events",
        log: LogOutput? = nil,
        descriptor: Int32 = STDERR_FILENO,
        clock: SystemClock = .system
    ) {
        self.title = title
        self.unit = unit
        self.log = log
        self.descriptor = descriptor
        self.clock = clock
        startedAt = clock.monotonicNanoseconds()
        isTerminal = isatty(descriptor) == 1
        if isTerminal { log?.setClearsLine(true) }
    }

    /// Draws the bar, at most ten times a second; cheap to call often.
    package func update(done: Int, total: Int?) {
        guard isTerminal else { return }
        let now = clock.monotonicNanoseconds()
        state.withLock { state in
            if state.isFinished { return }
            if let drawnAt = state.drawnAt, now - drawnAt < 100_000_000 { return }
            state.drawnAt = now
            let seconds = Double(now - startedAt) / 1e9
            put("\r" + ProgressText.line(title, done, total, unit, seconds: seconds, width: width) + "\u{1B}[K")
        }
    }

    /// Takes the bar away.
    package func finish() {
        guard isTerminal else { return }
        state.withLock { state in
            if state.isFinished { return }
            state.isFinished = true
            if state.drawnAt != nil { put("\r\u{1B}[K") }
            log?.setClearsLine(false)
        }
    }

    /// Seconds since the bar was made.
    package var elapsedSeconds: Double { Double(clock.monotonicNanoseconds() - startedAt) / 1e9 }

    private var width: Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    private func put(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(descriptor, bytes, bytes.count)
    }
}

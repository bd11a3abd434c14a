// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// The end of every log line: one `write(2)` each to a descriptor, standard error unless told otherwise.
///
/// A reader that stalls or a full disk never holds the program up: a line that cannot be written within a short time
/// is dropped, and the next one that can says how many were.
package final class LogOutput: Sendable {
    private struct State {
        var limit = RepeatLimit()
        var lost = 0
        var clearsLine = false
    }

    private let descriptor: Int32
    private let format: LogFormat
    private let patienceMilliseconds: Int32
    private let clock: SystemClock
    private let state = Lock(State())

    /// Makes an output.
    ///
    /// - Parameters:
    ///   - descriptor: where lines go; it is not closed.
    ///   - format: nil takes text on a terminal and JSON lines otherwise.
    ///   - patienceMilliseconds: how long the first line waits for a reader that stalls; the ones after it do not wait.
    ///   - clock: for the limit on repeating messages.
    package init(
        descriptor: Int32 = STDERR_FILENO,
        format: LogFormat? = nil,
        patienceMilliseconds: Int32 = 100,
        clock: SystemClock = .system
    ) {
        self.descriptor = descriptor
        self.format = format ?? (isatty(descriptor) == 1 ? .text : .json)
        self.patienceMilliseconds = patienceMilliseconds
        self.clock = clock
    }

    /// A logger that writes here.
    package func logger(label: String, level: Logger.Level = .info) -> Logger {
        Logger(label: label, level: level, clock: clock) { entry in self.write(entry) }
    }

    /// Whether something that does not end its line stands on the same terminal, so that a log line must clear it.
    package func setClearsLine(_ clears: Bool) {
        state.withLock { $0.clearsLine = clears && format == .text }
    }

    package func write(_ entry: Logger.Entry) {
        let allowance: RepeatLimit.Allowance = entry.level <= .debug ? .detailed : .usual
        let now = clock.monotonicNanoseconds() / 1_000_000
        state.withLock { state in
            guard case .write(let dropped) = state.limit.judge(entry.message, allowance, milliseconds: now) else {
                return
            }
            var entry = entry
            if dropped > 0 { entry.metadata["log.dropped_repeats"] = .integer(dropped) }
            if state.lost > 0 { entry.metadata["log.lost_lines"] = .integer(state.lost) }
            let line = (state.clearsLine ? Array("\r\u{1B}[K".utf8) : []) + format.line(entry)
            if put(line, patience: state.lost == 0 ? patienceMilliseconds : 0) {
                state.lost = 0
            } else {
                state.lost += 1
            }
        }
    }

    /// Writes one line if the descriptor takes it; a pipe that polls as writable takes PIPE_BUF bytes at once.
    private func put(_ line: [UInt8], patience: Int32) -> Bool {
        var target = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&target, 1, patience) == 1, Int32(target.revents) & POLLOUT != 0 else { return false }
        var result = 0
        repeat {
            result = line.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        } while result < 0 && errno == EINTR
        return result > 0
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// One of the real programs: started, ended by the faults, and started again, as by a supervisor.
package final class SoakProgram {
    /// After SIGTERM a program must have ended by then.
    private static let patience: Int64 = 40_000_000_000

    package let name: String
    private let launch: () throws -> ChildProcess
    /// Exit codes with which it may end by itself, such as those of a drain.
    private let ordinaryEnds: Set<Int32>
    package private(set) var process: ChildProcess?
    package private(set) var startedAt: Int64 = 0
    private var strikeAt: Int64?
    private var strikeSignal: Int32 = 0
    /// Exit codes with which a program may end that was told to stop.
    private var endsOfStop: Set<Int32> = []
    private var restartPause: Int64 = 0
    private var restartAt: Int64 = 0
    package private(set) var starts = 0
    package private(set) var kills = 0
    package private(set) var stops = 0
    /// Ends that nobody had asked for, by exit code.
    package private(set) var ownEnds: [Int32: Int] = [:]
    /// Times that it did not end on SIGTERM and was killed.
    package private(set) var hangs = 0

    package init(name: String, ordinaryEnds: Set<Int32> = [], launch: @escaping () throws -> ChildProcess) {
        self.name = name
        self.ordinaryEnds = ordinaryEnds
        self.launch = launch
    }

    package var isRunning: Bool { process != nil && strikeAt == nil }

    /// Starts it when it is time, and takes note when it has ended.
    package func tend(_ now: Int64) throws {
        guard let process else {
            if now >= restartAt { try start() }
            return
        }
        if let ending = process.poll() { return ended(ending.code, now) }
        guard let strikeAt, now - strikeAt > Self.patience else { return }
        hangs += 1
        process.send(SIGKILL)
        ended(process.wait().code, now)
    }

    package func start() throws {
        guard process == nil else { return }
        process = try launch()
        startedAt = SystemClock.system.monotonicNanoseconds()
        starts += 1
    }

    private func ended(_ code: Int32, _ now: Int64) {
        process = nil
        if strikeAt == nil {
            if !ordinaryEnds.contains(code) { ownEnds[code, default: 0] += 1 }
            restartAt = now + 300_000_000
        } else {
            if strikeSignal == SIGTERM && !endsOfStop.contains(code) { ownEnds[code, default: 0] += 1 }
            restartAt = now + restartPause
        }
        strikeAt = nil
    }

    /// Sends a signal that ends it; it is started again some seconds after it has ended.
    ///
    /// - Returns: false when it is not running.
    @discardableResult
    package func strike(_ signal: Int32, restartAfter seconds: Double, _ now: Int64) -> Bool {
        guard let process, strikeAt == nil, process.poll() == nil else { return false }
        // A program that was told to stop ends in good order; a drain may have ended by itself meanwhile, and one whose
        // libraries are still being loaded has no handler yet.
        endsOfStop = ordinaryEnds.union(process.catches(signal) ? [0] : [0, 128 + signal])
        process.send(signal)
        strikeAt = now
        strikeSignal = signal
        restartPause = Int64(seconds * 1e9)
        if signal == SIGKILL { kills += 1 } else { stops += 1 }
        return true
    }

    /// Ends it in good order and for good, after the faults.
    package func finish() throws {
        let begun = SystemClock.system.monotonicNanoseconds()
        if process != nil && strikeAt == nil { strike(SIGTERM, restartAfter: 0, begun) }
        while let process {
            if process.poll() == nil { usleep(10_000) }
            try tend(SystemClock.system.monotonicNanoseconds())
        }
    }
}

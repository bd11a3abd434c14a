// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// Runs the programs of this package as a user does: real processes with an environment of their own.
package struct ProcessRunner {
    package struct Result: Sendable {
        /// The exit code, or 128 plus the number of the signal that ended it.
        package var code: Int32
        package var output: String
        package var errors: String

        package var lines: [Substring] { output.split(separator: "\n") }
    }

    private static let inherited = ["PATH", "HOME", "TMPDIR", "ASAN_OPTIONS"]

    /// Variables besides those that are inherited.
    package var environment: [String: String]

    package init(environment: [String: String] = [:]) {
        self.environment = environment
    }

    /// The path of a program of this package; it lies beside the test bundle.
    package static func path(of program: String) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let bundle = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = bundle.prefix(upTo: bundle.lastIndex(of: "/") ?? bundle.endIndex)
        return "\(folder)/\(program)"
    }

    /// Starts a program; it is killed when the last owner lets go of it.
    package func start(
        _ program: String,
        _ arguments: [String],
        input: String? = nil
    ) throws(SystemError) -> RunningProcess {
        try RunningProcess(
            program.hasPrefix("/") ? program : Self.path(of: program),
            arguments,
            environment: variables,
            input: input
        )
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - program: its name, or the path of any other program.
    ///   - arguments: the words behind it.
    ///   - input: what it reads from standard input.
    ///   - seconds: then it is killed, and its code is 137.
    /// - Returns: how it ended and what it wrote.
    /// - Throws: when it cannot be started.
    package func run(
        _ program: String,
        _ arguments: [String],
        input: String? = nil,
        seconds: Int = 60
    ) throws(SystemError) -> Result {
        try start(program, arguments, input: input).result(seconds: seconds)
    }

    private var variables: [String] {
        let own = ProcessEnvironment.current.filter { Self.inherited.contains($0.key) }
        return own.merging(environment) { $1 }.map { "\($0.key)=\($0.value)" }
    }
}

/// A program that a test started.
package final class RunningProcess {
    private let child: ChildProcess
    private let folder: TemporaryFolder

    fileprivate init(
        _ path: String,
        _ arguments: [String],
        environment: [String],
        input: String?
    ) throws(SystemError) {
        folder = TemporaryFolder()
        let source = try File(opening: folder.path("input"), O_WRONLY | O_CREAT)
        try source.write(input ?? "")
        child = try ChildProcess(
            path,
            arguments,
            environment: environment,
            input: folder.path("input"),
            output: folder.path("output"),
            errors: folder.path("errors")
        )
    }

    package var id: Int32 { child.id }
    package var output: String { text("output") }
    package var errors: String { text("errors") }
    package var isRunning: Bool { child.poll() == nil }

    /// A number in kB of `/proc/<id>/status`, such as `VmHWM`, in bytes; nil when the program has ended.
    package func memory(_ field: String) -> Int? { child.memory(field) }
    /// Its open descriptors; nil when it has ended.
    package var descriptorCount: Int? { try? FileSystem.countNames(in: "/proc/\(id)/fd", upTo: .max) }

    package func terminate() { child.send(SIGTERM) }
    package func interrupt() { child.send(SIGINT) }
    package func hangUp() { child.send(SIGHUP) }

    /// Ends it as a power loss would, except that what it wrote stays.
    package func kill() {
        child.send(SIGKILL)
        child.wait()
    }

    /// Waits for a line of standard output that begins with `start`, such as `listening on `.
    ///
    /// - Returns: the rest of the line; nil when the program ended or the time is over.
    package func line(startingWith start: String, seconds: Int = 30) -> String? {
        var found: String?
        wait(seconds: seconds) {
            let isOver = !isRunning
            // The last piece may be half a line.
            found = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                .first { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
            return found != nil || isOver
        }
        return found
    }

    /// Waits until `condition` holds.
    ///
    /// - Returns: false when the time is over first.
    @discardableResult
    package func wait(seconds: Int, until condition: () -> Bool) -> Bool {
        let clock = SystemClock.system
        let end = clock.monotonicNanoseconds() + Int64(seconds) * 1_000_000_000
        while !condition() {
            if clock.monotonicNanoseconds() > end { return false }
            usleep(2000)  // another process makes it hold, and has no way to wake this one
        }
        return true
    }

    /// Waits for the end; a program that does not end in time is killed, and its code is 137.
    package func result(seconds: Int = 60) -> ProcessRunner.Result {
        if !wait(seconds: seconds, until: { !isRunning }) { child.send(SIGKILL) }
        return ProcessRunner.Result(code: child.wait().code, output: output, errors: errors)
    }

    private func text(_ name: String) -> String {
        let bytes = (try? FileSystem.contents(of: folder.path(name), limit: 64 << 20)) ?? []  // nothing written yet
        return String(decoding: bytes, as: UTF8.self)
    }
}

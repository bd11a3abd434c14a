// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A program started by this one, with its output in files or inherited.
///
/// Used by benchmarks and tests; it ends with its owner: `deinit` kills and reaps what still runs.
package final class ChildProcess {
    /// How a program ended and what it used.
    package struct Ending: Sendable {
        /// The exit code, or 128 plus the number of the signal that ended it.
        package var code: Int32
        /// User and system time in seconds.
        package var cpuSeconds: Double
        /// Largest resident memory in bytes.
        package var peakResidentBytes: Int
    }

    package let id: pid_t
    package let path: String
    private var ending: Ending?

    /// Starts the program at `path`.
    ///
    /// - Parameters:
    ///   - path: the program's file.
    ///   - arguments: the words behind its name.
    ///   - environment: replaces the inherited one; nil keeps it.
    ///   - input: a file to read from; nil inherits this program's own input, and so for the other two.
    ///   - output: a file that is appended to.
    ///   - errors: a file that is appended to.
    /// - Throws: when it can't be started.
    package init(
        _ path: String,
        _ arguments: [String],
        environment: [String]? = nil,
        input: String? = nil,
        output: String? = nil,
        errors: String? = nil
    ) throws(SystemError) {
        self.path = path
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input { posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0) }
        if let output { posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600) }
        if let errors { posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600) }
        // A child starts with default signal handling and nothing blocked, whatever its parent waits for.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var variables: [UnsafeMutablePointer<CChar>?] = (environment ?? []).map { strdup($0) } + [nil]
        defer { for variable in variables { free(variable) } }
        var id: pid_t = 0
        let code =
            environment == nil
            ? posix_spawn(&id, path, &actions, &attributes, &words, environ)
            : posix_spawn(&id, path, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw SystemError(call: "posix_spawn", path: path, errno: code) }
        self.id = id
    }

    deinit {
        guard ending == nil else { return }
        send(SIGKILL)
        wait()
    }

    package func send(_ signal: Int32) {
        if ending == nil { kill(id, signal) }
    }

    /// Waits until the program has ended.
    @discardableResult
    package func wait() -> Ending { reap(options: 0) ?? Ending(code: -1, cpuSeconds: 0, peakResidentBytes: 0) }

    /// How the program ended; nil while it runs.
    package func poll() -> Ending? { reap(options: WNOHANG) }

    private func reap(options: Int32) -> Ending? {
        if let ending { return ending }
        var status: Int32 = 0
        var usage = rusage()
        while true {
            let result = wait4(id, &status, options, &usage)
            if result == id { break }
            if result == 0 || errno != EINTR { return nil }
        }
        let signal = status & 0x7F
        ending = Ending(
            code: signal == 0 ? (status >> 8) & 0xFF : 128 + signal,
            cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            peakResidentBytes: Int(usage.ru_maxrss) * 1024
        )
        return ending
    }

    /// User and system time so far, in seconds; nil when the program has ended.
    package var cpuSeconds: Double? {
        guard let bytes = try? FileSystem.contents(ofProc: "/proc/\(id)/stat") else { return nil }  // ended: no file
        // The name stands in brackets and may hold anything; utime and stime are the 12th and 13th field behind it.
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[end...].split(separator: " ").dropFirst()
        guard fields.count > 13 else { return nil }
        let ticks = fields.dropFirst(11).prefix(2).compactMap { Double($0) }.reduce(0, +)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    /// A number in kB of `/proc/<id>/status`, such as `RssAnon`, in bytes; nil when the program has ended.
    package func memory(_ field: String) -> Int? { statusNumber(field).map { $0 * 1024 } }

    /// Threads of the program; nil when it has ended.
    package var threadCount: Int? { statusNumber("Threads") }

    /// Open files of the program; nil when it has ended.
    package var descriptorCount: Int? {
        try? FileSystem.countNames(in: "/proc/\(id)/fd", upTo: 1 << 20)  // ended: no folder
    }

    /// Whether the program has a handler for a signal by now.
    package func catches(_ signal: Int32) -> Bool {
        guard let mask = statusText("SigCgt").flatMap({ UInt64($0, radix: 16) }) else { return false }
        return mask >> UInt64(signal - 1) & 1 == 1
    }

    private func statusNumber(_ field: String) -> Int? {
        statusText(field).flatMap { $0.split(separator: " ").first }.flatMap { Int($0) }
    }

    /// What stands behind a name in `/proc/<id>/status`; nil when the program has ended.
    private func statusText(_ field: String) -> Substring? {
        guard let bytes = try? FileSystem.contents(ofProc: "/proc/\(id)/status") else { return nil }  // ended: no file
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix(field + ":") }) else { return nil }
        return line.dropFirst(field.utf8.count + 1).drop(while: { $0 == " " || $0 == "\t" })
    }
}

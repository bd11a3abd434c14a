// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSystem

/// `sluice-relay` as an operator calls it, on the soak's spool.
struct RelayTools {
    let folder: String
    let spool: String
    let url: String
    let environment: [String]

    /// Starts a command; what it prints replaces what an earlier one of that name has printed.
    func start(_ words: [String], as name: String) throws -> ChildProcess {
        let output = outputPath(name)
        try FileSystem.removeIfPresent(output)
        return try ChildProcess(
            try Bench.program("sluice-relay"),
            words + ["--spool", spool],
            environment: environment,
            input: "/dev/null",
            output: output,
            errors: "\(folder)/\(name).err"
        )
    }

    /// Runs a command to its end, at most for some minutes.
    func run(_ words: [String], as name: String) throws -> Int32 {
        let process = try start(words, as: name)
        let limit = SystemClock.system.monotonicNanoseconds() + 900_000_000_000
        while process.poll() == nil {
            usleep(5_000)
            if SystemClock.system.monotonicNanoseconds() > limit {
                process.send(SIGKILL)
                throw CommandError(.software, "sluice-relay \(words.joined(separator: " ")) does not end")
            }
        }
        return process.wait().code
    }

    func drain() throws -> Int32 { try run(["drain", "--graphjson-url", url], as: "drain") }

    func books() throws -> SpoolBooks {
        let code = try run(["status", "--json"], as: "status")
        guard let books = SpoolBooks(output(of: "status")) else {
            throw CommandError(.software, "sluice-relay status ended with \(code) and without an answer")
        }
        return books
    }

    func output(of name: String) -> [UInt8] {
        (try? FileSystem.contents(of: outputPath(name), limit: 64 << 20)) ?? []  // it printed nothing
    }

    private func outputPath(_ name: String) -> String { "\(folder)/\(name).out" }
}

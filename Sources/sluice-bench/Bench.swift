// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceSystem

/// Programs that stand beside this one, and the folder that a benchmark works in.
enum Bench {
    /// The path of a program that was built with this one.
    static func program(_ name: String) throws -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard length > 0 else { throw SystemError(call: "readlink", path: "/proc/self/exe", errno: errno) }
        let own = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = own.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return "\(folder)/\(name)"
    }

    /// Makes a folder below the current one, so that it is on a real disk.
    static func makeFolder(_ name: String = "bench") throws -> String {
        let path = "./sluice-\(name)-\(getpid())"
        try FileSystem.makeFolder(path, mode: 0o700)
        return path
    }

    /// Waits for the line `listening on ADDRESS:PORT` in a program's output.
    static func address(in path: String, of process: ChildProcess) throws -> String {
        for _ in 0..<1000 {
            if let bytes = try? FileSystem.contents(of: path, limit: 1 << 20) {  // not there yet: once more
                for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n")
                where line.hasPrefix("listening on ") { return String(line.dropFirst(13)) }
            }
            if process.poll() != nil { break }
            usleep(10_000)
        }
        throw CommandError(.software, "\(process.path) did not start to listen")
    }
}

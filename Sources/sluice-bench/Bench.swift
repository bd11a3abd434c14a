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

    /// Bytes of the files in a folder.
    static func bytes(in folder: String) throws -> Int {
        var sum = 0
        try FileSystem.forEachFile(in: folder) { _, status in sum += status.size }
        return sum
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

/// A program that was started and takes connections.
struct ListeningProgram {
    let process: ChildProcess
    let address: String
    let port: UInt16

    /// Starts `program`, which says `listening on ADDRESS:PORT` in the file `output`.
    init(_ program: String, _ words: [String], environment: [String]? = nil, output: String) throws {
        process = try ChildProcess(try Bench.program(program), words, environment: environment, output: output)
        address = try Bench.address(in: output, of: process)
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw CommandError(.software, "no port in \(address)")
        }
        self.port = port
    }

    func stop() {
        process.send(SIGTERM)
        process.wait()
    }
}

/// What a running program takes, looked at now and then.
struct Meter {
    private let process: ChildProcess
    private let cpuAtStart: Double
    private(set) var anonymousBytes = 0
    private(set) var descriptors = 0

    init(_ process: ChildProcess) {
        self.process = process
        cpuAtStart = process.cpuSeconds ?? 0
    }

    mutating func look() {
        anonymousBytes = max(anonymousBytes, process.memory("RssAnon") ?? 0)
        descriptors = max(descriptors, process.descriptorCount ?? 0)
    }

    /// User and system time since the meter was made.
    var cpuSeconds: Double { (process.cpuSeconds ?? 0) - cpuAtStart }
    var anonymousMebibytes: Double { Double(anonymousBytes) / 1_048_576 }
}

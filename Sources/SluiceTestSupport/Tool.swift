// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Glibc

/// Programs of the system that tests compare with or inject faults by.
package enum Tool {
    package struct Outcome: Sendable {
        package var status: Int32
        package var output: [UInt8]
        package var errors: String
    }

    /// The path of a program, nil when it is not installed.
    package static func path(of name: String) -> String? {
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return folders.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    package static func isInstalled(_ name: String) -> Bool { path(of: name) != nil }

    /// Runs a program to its end and keeps what it wrote.
    package static func run(_ name: String, _ arguments: String...) throws -> Outcome {
        guard let path = path(of: name) else { throw CocoaError(.fileNoSuchFile) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let output = Pipe()
        let scratch = TemporaryFolder()
        _ = FileManager.default.createFile(atPath: scratch.path("errors"), contents: nil)
        let errors = try FileHandle(forWritingTo: URL(fileURLWithPath: scratch.path("errors")))
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = try Data(contentsOf: URL(fileURLWithPath: scratch.path("errors")))
        return Outcome(
            status: process.terminationStatus,
            output: Array(bytes),
            errors: String(decoding: text, as: UTF8.self)
        )
    }
}

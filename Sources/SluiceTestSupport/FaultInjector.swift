// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// Lets system calls of real programs fail below one folder, and writes down what they change there.
///
/// `libSluiceFaults.so` does it, preloaded; `Tests/SluiceFaults/SluiceFaults.h` says what rules and log look like. One
/// injector may serve many programs on one spool, at a time or one after the other.
package final class FaultInjector {
    /// What the log holds besides the faults that were injected.
    package enum Record: String, Sendable {
        /// Everything that changes the folder, with the bytes.
        case changes
        /// What goes over sockets.
        case traffic
        /// Ends by `exit(3)`.
        case exit
    }

    /// The library did not compile.
    private struct BuildError: Error, CustomStringConvertible {
        var description: String
    }

    /// Where the library is, beside the test bundle.
    ///
    /// Tests build it: a package can have a library that is loaded at run time only as a product, which users would see.
    private static let library = Result { try buildLibrary() }

    /// The variables that a program is started with.
    package let environment: [String: String]
    private let folder = TemporaryFolder()
    private var version = 0

    /// Begins without a rule.
    ///
    /// - Parameters:
    ///   - root: the folder, which the program may make itself.
    ///   - record: what to write down.
    /// - Throws: when the library cannot be built.
    package init(root: String, record: [Record] = []) throws {
        environment = [
            "LD_PRELOAD": try Self.library.get(),
            "SLUICE_FAULTS_ROOT": root,
            "SLUICE_FAULTS_RULES": folder.path("rules"),
            "SLUICE_FAULTS_LOG": folder.path("log"),
            "SLUICE_FAULTS_RECORD": record.map(\.rawValue).joined(separator: ","),
        ]
    }

    private static func buildLibrary() throws -> String {
        let tree = "\(#filePath)".split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        let sources = tree.joined(separator: "/") + "/Tests/SluiceFaults"
        let library = ProcessRunner.path(of: "libSluiceFaults.so")
        let hidden = "\(library)-\(getpid())"
        let result = try Tool.run(
            Tool.isInstalled("clang") ? "clang" : "cc",
            ["-O1", "-Wall", "-Werror", "-fPIC", "-shared", "-o", hidden]
                + ["calls.c", "log.c", "rules.c"].map { "\(sources)/\($0)" }
        )
        guard result.code == 0 else { throw BuildError(description: result.errors) }
        try FileSystem.replace(library, with: hidden)
        return library
    }

    /// Puts these rules, such as `fdatasync incoming/*.open 2- fail=EIO`, in the place of those before; programs that
    /// run take them at their next call.
    package func set(_ rules: String...) throws(SystemError) {
        version += 1
        let hidden = folder.path("rules-\(version)")
        let file = try File(opening: hidden, O_WRONLY | O_CREAT | O_EXCL)
        try file.write(rules.map { $0 + "\n" }.joined())
        try FileSystem.replace(folder.path("rules"), with: hidden)
    }

    /// Ends every fault.
    package func clear() throws(SystemError) { try set() }

    /// What happened so far.
    package func log() throws -> FaultLog {
        let path = folder.path("log")
        return FaultLog(try FileSystem.contents(of: path, limit: FileStatus(of: path).size))
    }

    /// Forgets what was written down; no program may run meanwhile.
    package func clearLog() throws(SystemError) { try File(opening: folder.path("log"), O_WRONLY).truncate(to: 0) }
}

extension ProcessRunner {
    /// The same runner with programs that run under `injector`, if there is one.
    package func under(_ injector: FaultInjector?) -> ProcessRunner {
        ProcessRunner(environment: environment.merging(injector?.environment ?? [:]) { $1 })
    }
}

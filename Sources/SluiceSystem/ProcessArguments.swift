// SPDX-License-Identifier: Apache-2.0

/// The command line that this process was started with.
package enum ProcessArguments {
    /// The words behind the program's name.
    ///
    /// As the kernel has them: Swift's `CommandLine` looks for them beside the environment, and finds none when a
    /// preloaded library has set a variable, and thereby moved the environment, before `main`.
    package static var words: [String] {
        guard let bytes = try? FileSystem.contents(ofProc: "/proc/self/cmdline"), bytes.last == 0 else {
            return Array(CommandLine.arguments.dropFirst())  // no /proc here
        }
        return bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).dropFirst()
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

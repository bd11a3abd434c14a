// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// A file of events that a person names; `-` is standard input.
package enum InputFile {
    /// Opens an input; unlike `File`, it waits for the other end of a pipe.
    package static func open(_ file: String) throws(SystemError) -> File {
        let isStandard = file == "-"
        let name = self.name(of: file)
        let descriptor =
            isStandard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : Glibc.open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(call: "open", path: name, errno: errno) }
        let opened = File(adopting: descriptor, path: name)
        if try opened.status().isFolder { throw SystemError(call: "read", path: name, errno: EISDIR) }
        return opened
    }

    /// What a message calls it.
    package static func name(of file: String) -> String { file == "-" ? "standard input" : file }

    /// Makes sure that all can be read before anything is done.
    package static func check(_ files: [String]) throws(SystemError) {
        for file in files where file != "-" && access(file, R_OK) != 0 {
            throw SystemError(call: "open", path: file, errno: errno)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// A real folder that is removed with everything in it when the last user lets go of it.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() {
        var template = Array("\(Self.root)/sluice-test-XXXXXX\0".utf8).map { CChar(bitPattern: $0) }
        guard mkdtemp(&template) != nil else { fatalError("no temporary folder: \(String(cString: strerror(errno)))") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    /// The path of `name` inside the folder.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes `text` to the file `name` and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        let file = try File(opening: path(name), O_WRONLY | O_CREAT | O_TRUNC)
        try file.write(text)
        return path(name)
    }

    private static var root: String {
        guard let value = getenv("TMPDIR") else { return "/tmp" }
        return String(cString: value)
    }

    private static func remove(_ path: String) {
        let status = try? FileStatus(of: path)  // gone already: nothing to do
        if status?.isFolder == true {
            chmod(path, 0o700)
            for name in (try? FileSystem.names(in: path)) ?? [] { remove("\(path)/\(name)") }  // best effort
            rmdir(path)
        } else if status != nil {
            unlink(path)
        }
    }
}

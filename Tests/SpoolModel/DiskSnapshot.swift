// SPDX-License-Identifier: Apache-2.0
import Glibc
internal import SluiceSpool
import SluiceSystem

/// The folders and files below a root at one moment.
package struct DiskSnapshot: Hashable, Sendable {
    /// Relative paths; the root itself is not among them.
    package var folders: Set<String> = []
    package var files: [String: [UInt8]] = [:]

    package init() {}

    /// Reads what is there.
    package init(of root: String) throws {
        try read(root, "")
    }

    private mutating func read(_ root: String, _ folder: String) throws {
        for name in try FileSystem.names(in: "\(root)/\(folder)") {
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            if try FileStatus(of: "\(root)/\(path)").isFolder {
                folders.insert(path)
                try read(root, path)
            } else {
                files[path] = try FileSystem.contents(of: "\(root)/\(path)", limit: 1 << 30)
            }
        }
    }

    /// Makes the folder `root` with all of this in it.
    ///
    /// - Parameters:
    ///   - root: must not be there yet.
    ///   - modifiedAt: Unix seconds that every file says it was written at.
    /// - Throws: what the system says.
    package func write(to root: String, modifiedAt: Int) throws {
        try FileSystem.makeFolder(root)
        for folder in folders.sorted() { try FileSystem.makeFolder("\(root)/\(folder)") }
        var times = [timespec(tv_sec: modifiedAt, tv_nsec: 0), timespec(tv_sec: modifiedAt, tv_nsec: 0)]
        for (path, bytes) in files {
            let file = try File(opening: "\(root)/\(path)", O_WRONLY | O_CREAT | O_EXCL)
            try bytes.withUnsafeBytes { try file.write($0) }
            futimens(file.descriptor, &times)
        }
        for folder in folders { utimensat(AT_FDCWD, "\(root)/\(folder)", &times, 0) }
    }

    /// Equal for equal content, and hardly ever for other.
    func fingerprint(with seed: UInt64) -> UInt64 {
        var result = seed
        for folder in folders.sorted() { result = Self.mixed(Array(folder.utf8), result) }
        for (path, bytes) in files.sorted(by: { $0.key < $1.key }) {
            result = Self.mixed(bytes, Self.mixed(Array(path.utf8), result))
        }
        return result
    }

    private static func mixed(_ bytes: [UInt8], _ seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { Checksum.xxh3($0, seed: seed) }
    }

    /// In what the two differ, in words; empty when they are alike.
    package func differences(from other: DiskSnapshot) -> [String] {
        var lines = folders.symmetricDifference(other.folders).map { "folder \($0) is in one of them only" }
        for path in Set(files.keys).union(other.files.keys) {
            switch (files[path], other.files[path]) {
            case (let one?, let two?) where one != two:
                let place = zip(one, two).enumerated().first { $1.0 != $1.1 }?.offset ?? min(one.count, two.count)
                lines.append("\(path): \(one.count) and \(two.count) bytes, different from byte \(place)")
            case (_?, nil), (nil, _?): lines.append("\(path) is in one of them only")
            default: break
            }
        }
        return lines.sorted()
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

/// A spool in a temporary folder, whose files a check writes and reads.
final class ScratchSpool {
    static let segment = SegmentName(
        millisecondsSince1970: 1_796_000_000_000,
        writer: 0x0123_4567_89AB_CDEF,
        sequence: 0
    )

    private let folder = TemporaryFolder()
    let spool: SpoolFolder

    init() throws {
        spool = try SpoolFolder.open(folder.path("spool"), role: .relay)
    }

    /// Puts `bytes` in the place of whatever the file held.
    func write(_ bytes: UnsafeRawBufferPointer, to path: String) throws {
        try FileSystem.removeIfPresent(path)
        let file = try File(opening: path, O_WRONLY | O_CREAT | O_EXCL)
        try file.write(bytes)
    }

    func write(_ bytes: [UInt8], to path: String) throws {
        try bytes.withUnsafeBytes { try write($0, to: path) }
    }

    func append(_ bytes: [UInt8], to path: String) throws {
        let file = try File(opening: path, O_WRONLY | O_APPEND)
        try bytes.withUnsafeBytes { try file.write($0) }
    }
}

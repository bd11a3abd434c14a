// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem
internal import Glibc

/// A file that several processes write words and bytes into, for what must outlive them.
extension MappedFile {
    /// Makes a file of zeros, which takes room on disk only where it is written.
    package convenience init(creating path: String, count: Int) throws(SystemError) {
        let file = try File(opening: path, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try file.truncate(to: count)
        try self.init(file, count: count)
    }

    /// Maps the whole of a file that is there.
    package convenience init(opening path: String) throws(SystemError) {
        let file = try File(opening: path, O_RDWR, followLinks: true)
        let size = try file.status().size
        try self.init(file, count: size)
    }

    package var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: memory, count: count) }

    /// The 64-bit word at an offset that is a multiple of eight, read in one piece.
    package func word(at offset: Int) -> UInt64 { sluice_load_relaxed_u64(address(offset)) }

    /// Writes such a word in one piece.
    package func setWord(_ value: UInt64, at offset: Int) { sluice_store_relaxed_u64(address(offset), value) }

    /// Adds to such a word, whoever else does so.
    package func add(_ value: UInt64, at offset: Int) { _ = sluice_add_u64(address(offset), value) }

    private func address(_ offset: Int) -> UnsafeMutableRawPointer {
        precondition(offset >= 0 && offset % 8 == 0 && offset + 8 <= count, "a word of the file")
        return memory + offset
    }
}

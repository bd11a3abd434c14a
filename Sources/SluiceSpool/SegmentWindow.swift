// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSystem

/// A piece of a file in memory that moves along with its reader.
struct SegmentWindow: ~Copyable {
    static let capacity = 256 << 10

    let file: File
    /// The file's length; set when it was opened, less when the file turns out to end before.
    private(set) var size: Int
    private var start = 0
    private var count = 0
    private let memory: UnsafeMutableRawPointer

    init(_ file: consuming File, size: Int) {
        self.file = file
        self.size = size
        memory = .allocate(byteCount: Self.capacity, alignment: 64)
    }

    deinit { memory.deallocate() }

    /// The bytes from `offset` on, `wanted` of them or fewer at the end of the file; valid until the next call.
    mutating func bytes(at offset: Int, upTo wanted: Int) throws(SpoolError) -> UnsafeRawBufferPointer {
        let needed = max(0, min(wanted, size - offset))
        precondition(needed <= Self.capacity, "more than a window holds")
        if offset < start || offset + needed > start + count { try fill(from: offset) }
        let available = min(needed, max(0, start + count - offset))
        return UnsafeRawBufferPointer(start: memory + (offset - start), count: available)
    }

    /// As many bytes from `offset` on as are at hand; none at the end of the file.
    mutating func someBytes(at offset: Int) throws(SpoolError) -> UnsafeRawBufferPointer {
        if offset < start || offset >= start + count { try fill(from: offset) }
        return UnsafeRawBufferPointer(start: memory + (offset - start), count: max(0, start + count - offset))
    }

    private mutating func fill(from offset: Int) throws(SpoolError) {
        let wanted = max(0, min(Self.capacity, size - offset))
        start = offset
        count = 0
        if wanted == 0 { return }
        let room = UnsafeMutableRawBufferPointer(start: memory, count: wanted)
        count = try spoolCall(byteOffset: offset) { () throws(SystemError) in try file.read(into: room, at: offset) }
        if count < wanted { size = offset + count }
    }
}

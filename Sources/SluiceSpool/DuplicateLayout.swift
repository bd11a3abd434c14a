// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem
internal import SluiceSystem

/// Where things are in the file `duplicates`.
///
/// A header of 4096 bytes, then two tables of slots; little-endian words of eight bytes:
/// ```
/// 0       8         16     24            32       40      48         56           64           72
/// | magic | version | seed | destination | capacity | sum | generation | entries 0 | entries 1 | …
/// slot: | fingerprint, 0 when free | 1 << 32 + origin, 0 while it is being written |
/// ```
/// The table in use is `generation` modulo 2; `sum` is the XXH3-64 of the five words before it.
struct DuplicateLayout: Sendable {
    static let magic: UInt64 = 0x3144_5245_4349_554C
    static let version: UInt64 = 1
    static let headerBytes = 4096
    static let seedOffset = 16
    static let destinationOffset = 24
    static let capacityOffset = 32
    static let sumOffset = 40
    static let generationOffset = 48

    static func countOffset(_ generation: UInt64) -> Int { generation & 1 == 0 ? 56 : 64 }

    /// Entries of a generation.
    let capacity: Int
    let slots: Int
    let tableBytes: Int
    let fileBytes: Int

    /// Tables are half full at most.
    init(capacity: Int) {
        precondition(capacity > 0 && capacity <= 1 << 32, "a generation has entries, and fits into memory")
        self.capacity = capacity
        slots = (capacity * 2 + 255) & ~255
        tableBytes = slots * 16
        fileBytes = Self.headerBytes + 2 * tableBytes
    }

    /// Where the search for a fingerprint begins: a cache line, which four slots fill, so that most end in it.
    @inline(__always)
    func home(of fingerprint: UInt64) -> Int {
        Int(fingerprint.multipliedFullWidth(by: UInt64(slots)).high) & ~3
    }

    @inline(__always)
    func next(_ index: Int) -> Int { index + 1 == slots ? 0 : index + 1 }

    @inline(__always)
    func slot(_ index: Int, generation: UInt64) -> Int {
        Self.headerBytes + (generation & 1 == 0 ? 0 : tableBytes) + index * 16
    }

    /// The header of a new file.
    func appendHeader(seed: UInt64, destination: UInt64, to buffer: inout ByteBuffer) {
        for word in [Self.magic, Self.version, seed, destination, UInt64(capacity)] {
            buffer.append(littleEndian: word)
        }
        buffer.append(littleEndian: Checksum.xxh3(buffer.bytes))
    }

    /// The capacity in a header that verifies and is about `destination`, or about any when there is none.
    static func capacity(inHeader bytes: UnsafeRawBufferPointer, destination: UInt64? = nil) -> Int? {
        guard bytes.count >= generationOffset, bytes.u64(at: 0) == magic, bytes.u64(at: 8) == version,
            Checksum.xxh3(UnsafeRawBufferPointer(rebasing: bytes[..<sumOffset])) == bytes.u64(at: sumOffset),
            destination == nil || bytes.u64(at: destinationOffset) == destination
        else { return nil }
        return Int(exactly: bytes.u64(at: capacityOffset))
    }
}

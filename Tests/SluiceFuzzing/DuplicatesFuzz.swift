// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem

/// Whatever the file `duplicates` holds, the window opens, looks up and takes in; what it was told last it knows.
///
/// The first byte's bits: 0, the header is made right; the rest is the file's beginning.
final class DuplicatesFuzz {
    private static let destination: UInt64 = 9
    private static let capacity = 128

    private let scratch: ScratchSpool
    /// A new window's file.
    private let fresh: [UInt8]

    init() throws {
        scratch = try ScratchSpool()
        _ = try DuplicateWindow.open(in: scratch.spool, destination: Self.destination, capacity: Self.capacity)
        fresh = try FileSystem.contents(of: scratch.spool.duplicates, limit: 1 << 20)
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        guard let flags = input.first else { return }
        let hostile = Array(input.dropFirst())
        var bytes = hostile + fresh.dropFirst(min(hostile.count, fresh.count))
        if flags & 1 == 1 {
            // The header's first six words are right; generation, counts and slots are the input's.
            bytes = fresh[..<48] + bytes
            bytes = Array(bytes[..<fresh.count])
        }
        try scratch.write(bytes, to: scratch.spool.duplicates)
        let window = try DuplicateWindow.open(in: scratch.spool, destination: Self.destination, capacity: Self.capacity)
        for value in 1...UInt64(3) {
            let fingerprint = value &* 0x9E37_79B9_7F4A_7C15
            _ = window.lookup(fingerprint, origin: 5)
            window.insert(fingerprint, origin: 5)
            _ = window.lookup(fingerprint, origin: 5)
        }
        try hold(window.count >= 0, "a negative number of entries")
        // A window that was full of nonsense is an ordinary one after two generations.
        for value in 1...UInt64(2 * Self.capacity + 64) { window.insert(value &* 0xD1B5_4A32_D192_ED03, origin: 6) }
        let last = UInt64(2 * Self.capacity + 64) &* 0xD1B5_4A32_D192_ED03
        try hold(window.lookup(last, origin: 6) == .sameOrigin, "a window that never recovers")
    }
}

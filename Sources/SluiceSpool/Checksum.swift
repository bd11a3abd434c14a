// SPDX-License-Identifier: Apache-2.0
internal import CSluiceXXHash

/// XXH3 of 64 and 128 bits, the same in every process and on every machine.
package enum Checksum {
    @inline(__always)
    package static func xxh3(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        XXH3_64bits(bytes.baseAddress, bytes.count)
    }

    /// A checksum that nobody can aim at without knowing `seed`.
    @inline(__always)
    package static func xxh3(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
    }

    /// 128 bits, for names that must never fall together.
    package static func wideXXH3(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> (high: UInt64, low: UInt64) {
        let value = XXH3_128bits_withSeed(bytes.baseAddress, bytes.count, seed)
        return (value.high64, value.low64)
    }
}

/// The 64-bit XXH3 of bytes that come in pieces; one per thread, reuses its memory.
struct RunningChecksum: ~Copyable {
    private let state: OpaquePointer

    init() {
        guard let created = XXH3_createState() else { fatalError("out of memory for a checksum") }
        state = created
        reset()
    }

    deinit { XXH3_freeState(state) }

    mutating func reset() { XXH3_64bits_reset(state) }

    mutating func add(_ bytes: UnsafeRawBufferPointer) { XXH3_64bits_update(state, bytes.baseAddress, bytes.count) }

    /// Of everything that was added since the last reset.
    var value: UInt64 { XXH3_64bits_digest(state) }
}

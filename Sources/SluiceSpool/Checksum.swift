// SPDX-License-Identifier: Apache-2.0
internal import CSluiceXXHash

/// 64-bit XXH3, the same in every process and on every machine.
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
}

// SPDX-License-Identifier: Apache-2.0

/// A seeded 64-bit hash of an identifier, for tables that must not keep the identifier itself.
///
/// Two 64-bit words at a time are multiplied and folded. It proves nothing; with a secret seed nobody can choose
/// identifiers that fall together.
package enum IdentityHash {
    private static let first: UInt64 = 0x9E37_79B9_7F4A_7C15
    private static let second: UInt64 = 0xD1B5_4A32_D192_ED03

    /// The hash of `bytes`; never 0.
    package static func value(of bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var hash = seed ^ first
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = fold(hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), second)
            offset += 8
        }
        var tail = UInt64(bytes.count) << 56
        while offset < bytes.count {
            tail = tail << 8 ^ UInt64(bytes[offset])
            offset += 1
        }
        hash = fold(hash ^ tail, first)
        return hash == 0 ? 1 : hash
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low ^ left
    }
}

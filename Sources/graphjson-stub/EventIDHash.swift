// SPDX-License-Identifier: Apache-2.0

/// 128 bits that stand for an event_id; with keys of its own for every process, so that nobody can choose two that
/// meet.
struct EventIDHash: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    private static let keys: [UInt64] = (0..<4).map { _ in UInt64.random(in: .min ... .max) | 1 }
    private static let key = (keys[0], keys[1], keys[2], keys[3])

    init(_ bytes: UnsafeRawBufferPointer) {
        let key = Self.key
        var one = key.0 ^ UInt64(bytes.count)
        var two = key.1 &+ UInt64(bytes.count)
        var offset = 0
        while offset < bytes.count {
            var word: UInt64 = 0
            if bytes.count - offset >= 8 {
                word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            } else {
                for index in (offset..<bytes.count).reversed() { word = word << 8 | UInt64(bytes[index]) }
            }
            one = Self.fold(one ^ word, key.2)
            two = Self.fold(two &+ (word << 32 | word >> 32), key.3)
            offset += 8
        }
        high = Self.fold(one ^ key.1, key.0)
        low = Self.fold(two ^ key.0, key.1) | 1  // never the mark of a free slot
    }

    private static func fold(_ one: UInt64, _ two: UInt64) -> UInt64 {
        let product = one.multipliedFullWidth(by: two)
        return product.high ^ product.low
    }
}

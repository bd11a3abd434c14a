// SPDX-License-Identifier: Apache-2.0

/// Ids: random UUIDs of version 4 in lower case.
package enum EventID {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The id of 16 random bytes, given as two numbers, the first bytes being the highest of `high`.
    package static func text(_ high: UInt64, _ low: UInt64) -> String {
        let high = high & ~0xF000 | 0x4000
        let low = low & ~(3 << 62) | 1 << 63
        return String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for digit in 0..<32 {
                if [8, 12, 16, 20].contains(digit) {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                let half = digit < 16 ? high : low
                text[place] = digits[Int(half >> UInt64(60 - 4 * (digit % 16)) & 15)]
                place += 1
            }
            return 36
        }
    }

    /// A new id.
    package static func make(_ random: () -> UInt64) -> String { text(random(), random()) }
}

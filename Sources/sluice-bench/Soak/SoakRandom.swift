// SPDX-License-Identifier: Apache-2.0

/// Chance that a printed seed repeats.
struct SoakRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func below(_ limit: Int) -> Int { limit <= 1 ? 0 : Int.random(in: 0..<limit, using: &self) }

    mutating func between(_ low: Double, _ high: Double) -> Double {
        low < high ? Double.random(in: low..<high, using: &self) : low
    }

    var isTrue: Bool {
        mutating get { next() & 1 == 1 }
    }
}

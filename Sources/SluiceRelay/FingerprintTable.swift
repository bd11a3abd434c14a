// SPDX-License-Identifier: Apache-2.0

/// The fingerprints of records that are read but not resolved: an open-addressing set of 64-bit numbers.
///
/// Zero stands for an empty place, so fingerprint zero is kept as one.
package struct FingerprintTable {
    private var slots: [UInt64]
    private var mask: Int
    package private(set) var count = 0

    package init(capacity: Int = 1 << 12) {
        var size = 64
        while size < capacity * 2 { size *= 2 }
        slots = [UInt64](repeating: 0, count: size)
        mask = size - 1
    }

    /// Adds a fingerprint.
    ///
    /// - Returns: false when it was there already.
    package mutating func insert(_ fingerprint: UInt64) -> Bool {
        if count * 2 >= slots.count { grow() }
        let key = max(fingerprint, 1)
        var place = Int(truncatingIfNeeded: key) & mask
        while slots[place] != 0 {
            if slots[place] == key { return false }
            place = (place + 1) & mask
        }
        slots[place] = key
        count += 1
        return true
    }

    /// Takes a fingerprint out; what is not there is passed over.
    package mutating func remove(_ fingerprint: UInt64) {
        let key = max(fingerprint, 1)
        var place = Int(truncatingIfNeeded: key) & mask
        while slots[place] != key {
            if slots[place] == 0 { return }
            place = (place + 1) & mask
        }
        count -= 1
        // Close the gap: move back each follower that would no longer be found.
        var next = (place + 1) & mask
        while slots[next] != 0 {
            let home = Int(truncatingIfNeeded: slots[next]) & mask
            if (next - home) & mask >= (next - place) & mask {
                slots[place] = slots[next]
                place = next
            }
            next = (next + 1) & mask
        }
        slots[place] = 0
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: old.count * 2)
        mask = slots.count - 1
        count = 0
        for key in old where key != 0 { _ = insert(key) }
    }
}

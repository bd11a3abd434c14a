// SPDX-License-Identifier: Apache-2.0

/// Finds a name's number among names known beforehand, comparing bytes; it allocates nothing and counts no references.
///
/// Open addressing over the first eight and the last eight bytes and the length, which together are the whole name up
/// to sixteen bytes. The slots depend on the known names alone, so no input can make a search long.
package struct NameIndex: BitwiseCopyable {
    private struct Slot: BitwiseCopyable {
        var front: UInt64 = 0
        var back: UInt64 = 0
        var length = -1  // an empty slot
        var number = 0
        var start = UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    }

    private let slots: UnsafePointer<Slot>
    private let mask: Int

    /// - Parameters:
    ///   - names: all different; a name's number is its place in this list.
    ///   - arena: owns the index's memory.
    package init(_ names: [UnsafeRawBufferPointer], in arena: Arena) {
        var size = 4
        while size < names.count * 2 { size *= 2 }
        mask = size - 1
        var slots = [Slot](repeating: Slot(), count: size)
        for (number, name) in names.enumerated() {
            let copy = arena.text(name)
            let (front, back) = Self.ends(of: copy)
            var index = Self.hash(front, back, copy.count) & mask
            while slots[index].length >= 0 { index = (index + 1) & mask }
            slots[index] = Slot(
                front: front,
                back: back,
                length: copy.count,
                number: number,
                start: copy.baseAddress.unsafelyUnwrapped
            )
        }
        self.slots = arena.array(slots).baseAddress.unsafelyUnwrapped
    }

    package init(_ names: [String], in arena: Arena) {
        self.init(names.map { arena.text($0) }, in: arena)
    }

    /// The number of `name`, or nil when it is not among the known ones.
    @inline(__always)
    package func number(of name: UnsafeRawBufferPointer) -> Int? {
        let (front, back) = Self.ends(of: name)
        var index = Self.hash(front, back, name.count) & mask
        while true {
            let slot = slots[index]
            if slot.length < 0 { return nil }
            if slot.front == front && slot.back == back && slot.length == name.count
                && (name.count <= 16
                    || name.isEqual(to: UnsafeRawBufferPointer(start: slot.start, count: name.count)))
            {
                return slot.number
            }
            index = (index + 1) & mask
        }
    }

    @inline(__always)
    private static func hash(_ front: UInt64, _ back: UInt64, _ count: Int) -> Int {
        let mixed = (front ^ (back &* 0x9E37_79B9_7F4A_7C15)) &+ UInt64(truncatingIfNeeded: count)
        return Int(truncatingIfNeeded: (mixed &* 0xD6E8_FEB8_6659_FD93) >> 40)
    }

    /// The first and the last eight bytes; shorter names fill one word without reading past their end.
    @inline(__always)
    private static func ends(of name: UnsafeRawBufferPointer) -> (UInt64, UInt64) {
        guard let start = name.baseAddress, !name.isEmpty else { return (0, 0) }
        let count = name.count
        if count >= 8 {
            return (
                start.loadUnaligned(as: UInt64.self), (start + count - 8).loadUnaligned(as: UInt64.self)
            )
        }
        if count >= 4 {
            let front = UInt64(start.loadUnaligned(as: UInt32.self))
            let back = UInt64((start + count - 4).loadUnaligned(as: UInt32.self))
            return (front | back << 32, 0)
        }
        let first = UInt64(start.load(as: UInt8.self))
        let middle = UInt64((start + count / 2).load(as: UInt8.self))
        let last = UInt64((start + count - 1).load(as: UInt8.self))
        return (first | middle << 8 | last << 16, 0)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import Synchronization

/// 128 bits that stand for an event_id; with keys of its own for every process, so that nobody can choose two that meet.
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

/// The event_ids seen so far, 16 to 32 bytes each, up to 24 million.
final class EventIDSet: Sendable {
    private static let shardCount = 64
    private static let maximumPerShard = 24_000_000 / shardCount

    private let shards: [Shard] = (0..<shardCount).map { _ in Shard() }
    private let full = Atomic<Bool>(false)

    private final class Shard: Sendable {
        let table = Mutex(Table())
    }

    /// Open addressing; a slot whose `low` is 0 is free.
    private struct Table: ~Copyable {
        var slots: UnsafeMutablePointer<EventIDHash>
        var capacity = 256
        var count = 0

        init() { slots = Self.make(capacity) }

        deinit { free(slots) }

        static func make(_ capacity: Int) -> UnsafeMutablePointer<EventIDHash> {
            guard let memory = calloc(capacity, MemoryLayout<EventIDHash>.stride) else { fatalError("out of memory") }
            return memory.assumingMemoryBound(to: EventIDHash.self)
        }

        mutating func insert(_ hash: EventIDHash) -> Bool {
            var index = Int(truncatingIfNeeded: hash.low >> 8) & (capacity - 1)
            while slots[index].low != 0 {
                if slots[index] == hash { return false }
                index = (index + 1) & (capacity - 1)
            }
            slots[index] = hash
            count += 1
            if count * 4 > capacity * 3 { grow() }
            return true
        }

        private mutating func grow() {
            let old = UnsafeMutableBufferPointer(start: slots, count: capacity)
            capacity *= 2
            slots = Self.make(capacity)
            count = 0
            for hash in old where hash.low != 0 { _ = insert(hash) }
            free(old.baseAddress)
        }
    }

    func insert(_ hash: EventIDHash) {
        let shard = shards[Int(hash.high & UInt64(Self.shardCount - 1))]
        shard.table.withLock { table in
            if table.count < Self.maximumPerShard {
                _ = table.insert(hash)
            } else {
                full.store(true, ordering: .relaxed)
            }
        }
    }

    var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

    /// Whether ids were left uncounted.
    var isFull: Bool { full.load(ordering: .relaxed) }
}

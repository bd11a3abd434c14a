// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import Synchronization

/// The event_ids seen so far, 16 to 32 bytes each, up to 24 million.
final class EventIDSet: Sendable {
    private static let shardCount = 64
    private static let maximumPerShard = 24_000_000 / shardCount

    private let shards: [Shard] = (0..<shardCount).map { _ in Shard() }
    private let full = Atomic<Bool>(false)

    private final class Shard: Sendable {
        let table = Lock(Table())
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

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import Synchronization

/// The event_ids seen so far, 16 to 32 bytes each, up to 24 million.
///
/// Those of a request are taken in together: one lock for all, and the places in memory of all are on their way before
/// the first is looked at.
final class EventIDSet: Sendable {
    private static let maximumCount = 24_000_000

    private let tables = Lock(Tables())
    private let full = Atomic<Bool>(false)

    /// Several, so that one that grows holds nobody up for long.
    private struct Tables: ~Copyable {
        private static let number = 64

        private let tables: UnsafeMutablePointer<Table>
        var count = 0
        /// Kept so that looking ahead is not left out as useless.
        private var seen: UInt64 = 0

        init() {
            tables = .allocate(capacity: Self.number)
            for index in 0..<Self.number { (tables + index).initialize(to: Table()) }
        }

        deinit {
            tables.deinitialize(count: Self.number)
            tables.deallocate()
        }

        mutating func insert(_ hashes: [EventIDHash]) {
            for hash in hashes { seen ^= tables[index(hash)].mark(hash) }
            for hash in hashes where tables[index(hash)].insert(hash) { count += 1 }
        }

        private func index(_ hash: EventIDHash) -> Int { Int(hash.high & UInt64(Self.number - 1)) }
    }

    /// Open addressing; a slot whose `low` is 0 is free.
    private struct Table: ~Copyable {
        private var slots: UnsafeMutablePointer<EventIDHash>
        private var capacity = 256
        private var count = 0

        init() { slots = Self.make(capacity) }

        deinit { free(slots) }

        private static func make(_ capacity: Int) -> UnsafeMutablePointer<EventIDHash> {
            guard let memory = calloc(capacity, MemoryLayout<EventIDHash>.stride) else { fatalError("out of memory") }
            return memory.assumingMemoryBound(to: EventIDHash.self)
        }

        private func home(_ hash: EventIDHash) -> Int { Int(truncatingIfNeeded: hash.low >> 8) & (capacity - 1) }

        /// What stands where the search for an id begins.
        func mark(_ hash: EventIDHash) -> UInt64 { slots[home(hash)].low }

        /// Takes an id in.
        ///
        /// - Returns: false when it is there already.
        mutating func insert(_ hash: EventIDHash) -> Bool {
            var index = home(hash)
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

    /// Takes the ids of a request in; beyond the limit they are left out.
    func insert(_ hashes: [EventIDHash]) {
        tables.withLock { tables in
            if tables.count < Self.maximumCount {
                tables.insert(hashes)
            } else {
                full.store(true, ordering: .relaxed)
            }
        }
    }

    var count: Int { tables.withLock { $0.count } }

    /// Whether ids were left uncounted.
    var isFull: Bool { full.load(ordering: .relaxed) }
}

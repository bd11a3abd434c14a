// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem
internal import SluiceSystem
internal import Synchronization

/// The file `duplicates`: fingerprints of what a destination took last, in memory that all relays of a spool share.
///
/// Two generations of a hash table; when the newer is full, the older is cleared and takes its place. Nothing here
/// waits for anybody. What a killed process inserted is there; what a loss of power takes away only means that a
/// repeated event may be sent again.
///
/// The room is reserved when the file is made: what is noted there never needs any. Should somebody cut the file off all
/// the same, or its disk fail, it is an empty window from then on and `isInPlace` says so: it costs repeats at most.
///
/// It is safe to share between threads and processes: the mapping and its layout are fixed as long as the object
/// lives, and every word that changes is read and written with the atomic operations of `CSluiceSystem`.
package final class DuplicateWindow: @unchecked Sendable {
    /// What the window knows of an event.
    package enum Finding: Hashable, Sendable {
        case absent
        /// The very record was delivered: a crash came before it could be noted.
        case sameOrigin
        /// The event was delivered from another record.
        case otherOrigin
    }

    /// Entries of a generation.
    package static let defaultCapacity = 1 << 20

    /// Random for each spool, so that nobody outside can aim at a fingerprint.
    package let seed: UInt64
    private let file: File
    private let mapping: MappedFile
    private let memory: UnsafeMutableRawPointer
    private let layout: DuplicateLayout
    private let rotating = Atomic(false)
    /// A run of taken slots that is longer is given up.
    private static let maximumProbes = 512

    init(_ file: consuming File, _ mapping: MappedFile, layout: DuplicateLayout) {
        self.file = file
        self.mapping = mapping
        memory = mapping.memory
        self.layout = layout
        seed = sluice_load_relaxed_u64(memory + DuplicateLayout.seedOffset)
    }

    /// Whether it still is the spool's file, whole and in its place; if not, its owner opens the window anew.
    package var isInPlace: Bool {
        !mapping.isLost && file.isStillAtItsPath() && (try? file.status().size) == layout.fileBytes  // unreadable: not
    }

    // MARK: Fingerprints

    /// The fingerprint of some bytes; give what comes out as `seed` to the next piece of the same event.
    @inline(__always)
    package static func fingerprint(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        let value = Checksum.xxh3(bytes, seed: seed)
        return value == 0 ? 1 : value
    }

    /// Fetches what a `lookup` of the fingerprint will read; worth it some records ahead.
    @inline(__always)
    package func prefetch(_ fingerprint: UInt64) {
        let generation = sluice_load_relaxed_u64(memory + DuplicateLayout.generationOffset)
        let home = layout.home(of: fingerprint)
        sluice_prefetch(memory + layout.slot(home, generation: generation))
        guard holds(generation &+ 1) else { return }
        sluice_prefetch(memory + layout.slot(home, generation: generation &+ 1))
    }

    @inline(__always)
    private func holds(_ generation: UInt64) -> Bool {
        sluice_load_relaxed_u64(memory + DuplicateLayout.countOffset(generation)) > 0
    }

    /// Looks an event up.
    ///
    /// * `origin`: `RecordOrigin.fingerprint` of the record.
    package func lookup(_ fingerprint: UInt64, origin: UInt32) -> Finding {
        let generation = sluice_load_acquire_u64(memory + DuplicateLayout.generationOffset)
        let newer = lookup(fingerprint, origin: origin, generation: generation)
        guard newer == .absent else { return newer }
        let older = generation &+ 1
        guard holds(older) else { return .absent }
        return lookup(fingerprint, origin: origin, generation: older)
    }

    private func lookup(_ fingerprint: UInt64, origin: UInt32, generation: UInt64) -> Finding {
        var index = layout.home(of: fingerprint)
        for _ in 0..<Self.maximumProbes {
            let slot = memory + layout.slot(index, generation: generation)
            let found = sluice_load_acquire_u64(slot)
            if found == 0 { return .absent }
            if found == fingerprint {
                let word = sluice_load_acquire_u64(slot + 8)
                // Zero: whoever inserted it was killed in between; then it is the one that comes again.
                return word == 0 || UInt32(truncatingIfNeeded: word) == origin ? .sameOrigin : .otherOrigin
            }
            index = layout.next(index)
        }
        return .absent
    }

    /// Notes an event that was delivered; what is known already stays as it is.
    package func insert(_ fingerprint: UInt64, origin: UInt32) {
        // Whoever was held up for a whole rotation has inserted into the table that is cleared next.
        for _ in 0..<4 {
            var generation = sluice_load_acquire_u64(memory + DuplicateLayout.generationOffset)
            if sluice_load_relaxed_u64(memory + DuplicateLayout.countOffset(generation)) >= UInt64(layout.capacity) {
                rotate(from: generation)
                generation = sluice_load_acquire_u64(memory + DuplicateLayout.generationOffset)
            }
            insert(fingerprint, origin: origin, generation: generation)
            if sluice_load_acquire_u64(memory + DuplicateLayout.generationOffset) == generation { return }
        }
    }

    private func insert(_ fingerprint: UInt64, origin: UInt32, generation: UInt64) {
        var index = layout.home(of: fingerprint)
        for _ in 0..<Self.maximumProbes {
            let slot = memory + layout.slot(index, generation: generation)
            let found = sluice_load_acquire_u64(slot)
            if found == fingerprint { return }
            if found == 0 {
                if sluice_exchange_u64(slot, 0, fingerprint) != 0 {
                    sluice_store_release_u64(slot + 8, 1 << 32 | UInt64(origin))
                    _ = sluice_add_u64(memory + DuplicateLayout.countOffset(generation), 1)
                    return
                }
                // Somebody was faster: perhaps with the same event.
                if sluice_load_acquire_u64(slot) == fingerprint { return }
            }
            index = layout.next(index)
        }
        // A run this long is a table fuller than its count says: counted all the same, it comes to its end sometime.
        _ = sluice_add_u64(memory + DuplicateLayout.countOffset(generation), 1)
    }

    /// Clears the older generation and makes it the newer; whoever finds another at it goes on meanwhile.
    private func rotate(from generation: UInt64) {
        guard rotating.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else { return }
        defer { rotating.store(false, ordering: .releasing) }
        guard (try? file.tryLock()) == true else { return }  // another process is at it
        defer { try? file.unlock() }  // closing would do it as well
        guard sluice_load_acquire_u64(memory + DuplicateLayout.generationOffset) == generation else { return }
        let older = generation &+ 1
        sluice_store_relaxed_u64(memory + DuplicateLayout.countOffset(older), 0)
        let start = memory + layout.slot(0, generation: older)
        for offset in stride(from: 0, to: layout.tableBytes, by: 8) { sluice_store_relaxed_u64(start + offset, 0) }
        sluice_store_release_u64(memory + DuplicateLayout.generationOffset, older)
    }

    // MARK: Figures

    /// Entries in both generations, about.
    package var count: Int {
        let generation = sluice_load_acquire_u64(memory + DuplicateLayout.generationOffset)
        return [generation, generation &+ 1].reduce(0) { sum, generation in
            // The file may say anything.
            let count = sluice_load_relaxed_u64(memory + DuplicateLayout.countOffset(generation))
            return sum + Int(min(count, UInt64(layout.slots)))
        }
    }

    /// Writes the window to disk, which may take a second; needed only to remember through a loss of power.
    package func sync() throws(SpoolError) {
        try spoolCall { () throws(SystemError) in try file.syncData() }
    }
}

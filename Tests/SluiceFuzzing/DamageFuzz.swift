// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem

/// A search for a person in damaged bytes stays inside what it may search, misses no whole record without saying where
/// it could not look, and does not find again what it has removed.
///
/// The first two bytes are a hole in what may be searched, in steps of eight bytes; the rest is as for `segment`.
final class DamageFuzz {
    private let search: DamageSearch

    init() throws {
        let scratch = try ScratchSpool()
        let persons = [Person(.user, "usr_fuzz_1"), Person(.anonymous, "anon-fuzz-1")]
        let list = ErasureList(in: scratch.spool)
        try list.add(persons, until: 1_797_000_000)
        search = DamageSearch(persons, book: list.book)
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        guard input.count > 3 else { return }
        let (hole, length) = (8 * Int(input[0]), 8 * Int(input[1]))
        var bytes: [UInt8]
        var script: SegmentScript?
        switch input[2] {
        case 0: bytes = Array(input.from(3))
        case 1: bytes = SegmentScript.signed(Array(input.from(3)))
        default:
            let made = SegmentScript(input.from(3))
            bytes = made.bytes
            script = made
        }
        var covered = RangeSet(0..<bytes.count)
        covered.remove(contentsOf: hole..<hole + length)
        let found = try self.found(bytes, covered)
        for group in script?.groups ?? [] where covered.isSuperset(of: RangeSet(group.range)) {
            guard group.content.contains(part: "usr_fuzz_1") else { continue }
            let seen = found.removed.union(found.unsearched).intersection(RangeSet(group.range))
            try hold(!seen.isEmpty, "a whole record at \(group.range) is missed and nobody says so")
        }
        for range in found.removed.ranges { for index in range { bytes[index] = 0 } }
        covered.subtract(found.removed)
        let again = try self.found(bytes, covered)
        try hold(again.hits.isEmpty, "what was removed at \(found.removed) is found again at \(again.hits)")
    }

    private func found(_ bytes: [UInt8], _ covered: RangeSet<Int>) throws -> DamageSearch.Result {
        let buffer = ByteBuffer(copying: bytes)
        let found = search.search(buffer.bytes, covered: covered)
        try hold(covered.isSuperset(of: found.removed), "bytes are removed that nobody may touch")
        try hold(covered.isSuperset(of: found.unsearched), "bytes are told of that nobody may search")
        try hold(found.removed.isDisjoint(found.unsearched), "bytes are removed and not searched")
        try hold(found.hits.isEmpty == found.removed.isEmpty, "a hit that removes nothing")
        try hold(found.hits.allSatisfy { covered.contains($0) }, "a hit outside of what may be searched")
        return found
    }
}

extension [UInt8] {
    func contains(part: String) -> Bool { String(decoding: self, as: UTF8.self).contains(part) }
}

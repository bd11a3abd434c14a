// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem
internal import SluiceTestSupport

/// A list of erased persons is read whole or stops everything; who is added to it is on it, and nobody leaves it so.
///
/// A first byte below 0x20 is taken off, a header is put in front, and every line gets its checksum.
final class ErasureFuzz {
    private let scratch: ScratchSpool
    private let clock = ManualClock(wallMilliseconds: 1_796_000_000_000).clock
    private let person = Person(.user, "usr_fuzz_1")

    init() throws { scratch = try ScratchSpool() }

    func check(_ input: UnsafeRawBufferPointer) throws {
        let isSigned = input.first.map { $0 < 0x20 && $0 != 0x0A } ?? false
        try scratch.write(isSigned ? Self.signed(input.from(1)) : Array(input), to: scratch.spool.erased)
        let list = ErasureList(in: scratch.spool)
        do throws(SpoolError) {
            try list.refresh()
        } catch {
            try hold(error.disposition == .stop, "a list that does not verify does not stop delivery")
            return
        }
        let before = list.book
        try list.add([person], until: 1_796_000_000, clock: clock)
        try hold(list.book.covers(person, receivedAt: 1_796_000_000), "who was added is not covered")
        try hold(!list.book.covers(person, receivedAt: .max) || before.covers(person, receivedAt: .max), "for ever")
        try list.markSwept(at: 1_796_000_000)
        let again = ErasureList(in: scratch.spool)
        try again.refresh()
        for (hash, entry) in before.entries {
            let kept = try need(again.book.entries[hash], "an entry is gone")
            try hold(kept.until >= entry.until && kept.notedAt >= entry.notedAt, "an entry forgets")
        }
        try again.removeOld(oldestSegmentAt: nil, clock: clock)
        try hold(again.book.covers(person, receivedAt: 1_796_000_000), "an entry leaves before its time")
    }

    private static func signed(_ text: UnsafeRawBufferPointer) -> [UInt8] {
        let lines =
            [Array("sluice-erased 1 seed=00000000000000ff".utf8)] + text.split(separator: 0x0A).map { Array($0) }
        return lines.flatMap { (line: [UInt8]) -> [UInt8] in
            line + Array(" \(SegmentName.writerText(line.withUnsafeBytes { Checksum.xxh3($0) }))\n".utf8)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceTestSupport
import Testing

/// Damage at every place of a small segment: what is whole is delivered, what is not is reported with its range.
///
/// Cases C35 and C36.
struct CorruptionTests {
    private let folder = TemporaryFolder()

    @Test(arguments: [true, false])
    func `a whole segment gives every record`(footer: Bool) throws {
        let sample = try SampleSegment(footer: footer)
        let reading = try Reading(of: sample.bytes, in: folder)
        #expect(reading.delivered == sample.groups)
        #expect(reading.damaged == [] && reading.tornTail == nil)
        #expect(reading.footer?.records == (footer ? 12 : nil))
        #expect(reading.items.count == 5)
    }

    @Test(arguments: [true, false])
    func `cut at every byte, whole frames are delivered and the rest is a torn tail`(footer: Bool) throws {
        let sample = try SampleSegment(footer: footer)
        for cut in 0..<sample.bytes.count {
            let reading = try Reading(of: Array(sample.bytes[..<cut]), in: folder)
            let whole = sample.groups.indices.filter { sample.groupRange($0).upperBound <= cut }
            #expect(reading.delivered == whole.map { sample.groups[$0] }, "cut at \(cut)")
            #expect(reading.damaged == [], "cut at \(cut)")
            #expect(reading.footer == nil, "cut at \(cut)")
            let element = try sample.element(at: cut)
            let start = element.group.map { sample.groupRange($0).lowerBound } ?? element.range.lowerBound
            #expect(reading.tornTail == (start == cut ? nil : start..<cut), "cut at \(cut)")
        }
    }

    @Test(arguments: [true, false])
    func `zeroed from every byte on, whole frames are delivered and the rest is damage`(footer: Bool) throws {
        let sample = try SampleSegment(footer: footer)
        for offset in 0..<sample.bytes.count {
            let zeroed = sample.bytes[..<offset] + [UInt8](repeating: 0, count: sample.bytes.count - offset)
            let reading = try Reading(of: Array(zeroed), in: folder)
            guard let first = zeroed.indices.first(where: { zeroed[$0] != sample.bytes[$0] }) else {
                #expect(reading.delivered == sample.groups, "zeroed from \(offset)")
                continue
            }
            let whole = sample.groups.indices.filter { sample.groupRange($0).upperBound <= first }
            #expect(reading.delivered == whole.map { sample.groups[$0] }, "zeroed from \(offset)")
            #expect(reading.tornTail == nil, "zeroed from \(offset)")
            let element = try sample.element(at: first)
            let start = element.group.map { sample.groupRange($0).lowerBound } ?? element.range.lowerBound
            #expect(reading.damaged.first?.lowerBound == start, "zeroed from \(offset)")
            #expect(reading.damaged.map(\.count).reduce(0, +) == sample.bytes.count - start, "zeroed from \(offset)")
        }
    }

    @Test(arguments: [true, false])
    func `with any bit flipped, only that element is damaged and its range is exact`(footer: Bool) throws {
        let sample = try SampleSegment(groups: 3, footer: footer)
        var meaninglessFlips = 0
        for offset in 0..<sample.bytes.count {
            for bit in 0..<8 {
                var bytes = sample.bytes
                bytes[offset] ^= 1 << bit
                let reading = try Reading(of: bytes, in: folder)
                let element = try sample.element(at: offset)
                if element.kind == .data && reading.delivered == sample.groups {
                    // The count frame does not vouch for these bytes, and their own checksum does for their content.
                    let count = sample.elements.first { $0.kind == .count && $0.group == element.group }
                    #expect(reading.damaged == [count?.range])
                    meaninglessFlips += 1
                    continue
                }
                let place: Comment = "bit \(bit) of byte \(offset), \(element.kind)"
                var expected = sample.groups
                var damaged = element.range
                if element.kind == .data, let group = element.group {
                    expected.remove(at: group)
                    damaged = sample.groupRange(group)
                }
                #expect(reading.delivered == expected, place)
                #expect(reading.damaged == [damaged], place)
                #expect(reading.tornTail == nil, place)
                #expect((reading.footer != nil) == (footer && element.kind != .footer), place)
                if element.kind == .data {
                    let item = SegmentReader.Item.damaged(
                        offset: damaged.lowerBound,
                        length: damaged.count,
                        declaredRecords: sample.recordsPerGroup
                    )
                    #expect(reading.items.contains(item), place)
                }
            }
        }
        // The last token of a block has four bits that mean nothing.
        #expect(meaninglessFlips <= 4 * sample.groups.count)
    }

    @Test func `a hole of zeros costs the groups it touches and no other`() throws {
        let sample = try SampleSegment()
        for start in stride(from: 0, to: sample.bytes.count, by: 5) {
            for length in [1, 3, 17, 64, 150, 333] {
                var bytes = sample.bytes
                let hole = start..<min(bytes.count, start + length)
                for index in hole { bytes[index] = 0 }
                let reading = try Reading(of: bytes, in: folder)
                let whole = sample.elements.filter { element in
                    element.kind == .data && element.range.allSatisfy { bytes[$0] == sample.bytes[$0] }
                }
                #expect(
                    reading.delivered == whole.compactMap { $0.group.map { sample.groups[$0] } },
                    "hole \(hole)"
                )
                #expect(reading.damaged.isEmpty == (bytes == sample.bytes), "hole \(hole)")
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func `bytes lost, doubled, moved and overwritten never cost an untouched group`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sample = try SampleSegment(groups: 6)
        for _ in 0..<300 {
            var bytes = sample.bytes
            let at = Int.random(in: 0..<bytes.count, using: &random)
            let length = Int.random(in: 1..<120, using: &random)
            let range = at..<min(bytes.count, at + length)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes.removeSubrange(range)
            case 1: bytes.insert(contentsOf: bytes[range], at: at)
            case 2:
                bytes.insert(contentsOf: (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }, at: at)
            default: for index in range { bytes[index] = UInt8.random(in: 0...255, using: &random) }
            }
            let reading = try Reading(of: bytes, in: folder)
            for group in sample.groups.indices {
                let whole = sample.groupRange(group)
                if whole.upperBound <= range.lowerBound || whole.lowerBound >= range.upperBound {
                    #expect(reading.delivered.contains(sample.groups[group]), "seed \(seed), \(range)")
                }
            }
            #expect(reading.delivered.allSatisfy(sample.groups.contains), "seed \(seed), \(range)")
        }
    }
}

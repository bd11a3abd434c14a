// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// The names that were removed from events, on their way through a segment's footer.
struct NameTallyTests {
    private func tally(_ names: [(String, Int)]) -> NameTally {
        var tally = NameTally()
        for (name, count) in names { for _ in 0..<count { name.withBytes { tally.add($0) } } }
        return tally
    }

    /// A segment of one record whose footer carries these names.
    private func segment(in folder: TemporaryFolder, _ names: NameTally) throws -> SegmentFile {
        let segment = SegmentName(millisecondsSince1970: 1, writer: 2, sequence: 3)
        let file = try SegmentFile(
            creating: segment,
            in: folder.path,
            as: segment.sealedFileName,
            host: "h",
            createdAt: 1
        )
        try "{}\n".withBytes { _ = try file.append($0, records: 1, receivedAt: 7...7) }
        try file.appendFooter(removedNames: names)
        try file.sync()
        return file
    }

    @Test func `the most frequent come first, equal ones in the order of their bytes`() {
        let tally = tally([("b", 2), ("c", 5), ("a", 2)])
        #expect(tally.mostFrequent.map(\.name) == [Array("c".utf8), Array("a".utf8), Array("b".utf8)])
        #expect(tally.mostFrequent.map(\.count) == [5, 2, 2])
    }

    @Test func `a frequent name survives any number of rare ones`() {
        var tally = NameTally()
        for number in 0..<100_000 {
            (number % 10 == 0 ? "often" : "rare-\(number)").withBytes { tally.add($0) }
        }
        let first = tally.mostFrequent.first
        #expect(first?.name == Array("often".utf8))
        #expect((first?.count ?? 0) >= 10_000)
        #expect(tally.mostFrequent.count <= 64)
    }

    @Test func `names compare by their bytes and are cut where they are long`() {
        let tally = tally([("\u{E9}", 1), ("e\u{301}", 1), (String(repeating: "x", count: 1000), 1)])
        #expect(tally.mostFrequent.count == 3)
        #expect(tally.mostFrequent.map(\.name.count).max() == 64)
    }

    @Test(arguments: [
        "plain", "\"records\":99", "a\\\"b\n\u{0}", "\u{1F600}", "records", String(repeating: "\u{20AC}", count: 40),
        String(repeating: "\u{1}", count: 64),
    ])
    func `a footer carries names whatever they are, and its totals stay right`(_ name: String) throws {
        let folder = TemporaryFolder()
        let file = try segment(in: folder, tally([(name, 3), ("other", 1)]))
        let summary = try SegmentSummary(of: file.path)
        #expect(summary.hasFooter && summary.totals.records == 1)
        let reader = try SegmentReader(opening: file.path)
        var content = ByteBuffer(capacity: 100)
        while true {
            guard case .end(let footer) = try reader.next(into: &content) else { continue }
            let names = try #require(footer).removedNames.mostFrequent
            #expect(names.map(\.count) == [3, 1])
            // A name that is cut inside a character ends in U+FFFD.
            let shown = String(decoding: Array(name.utf8.prefix(64)), as: UTF8.self)
            #expect(names.first?.name.elementsEqual(shown.utf8.prefix(64)) == true)
            return
        }
    }

    @Test func `a footer full of the longest names is still a frame that a reader takes`() throws {
        let folder = TemporaryFolder()
        var names = NameTally()
        for number in 0..<64 {
            (String(repeating: "\u{1}", count: 62) + "\(number)").withBytes { names.add($0, count: Int.max / 100) }
        }
        #expect(try SegmentSummary(of: try segment(in: folder, names).path).hasFooter)
    }
}

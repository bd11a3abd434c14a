// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// `lz4` and this module agree about what a segment holds.
///
/// Case C78.
@Suite(.enabled(if: Tool.isInstalled("lz4"), "the lz4 tool is missing"))
struct StandardToolTests {
    private let folder = TemporaryFolder()
    private let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 1, sequence: 0)

    @Test(arguments: [1, 50, 9_000, 60_000])
    func `lz4 finds a sealed segment whole and gives its records`(records: Int) throws {
        var text = ""
        for number in 0..<records {
            text += #"{"received_at":1796000000,"n":\#(number &* 2_654_435_761),"s":"é"}"# + "\n"
        }
        let file = try SegmentFile(creating: name, in: folder.path, as: name.sealedFileName, createdAt: 1_796_000_000)
        for _ in 0..<3 {
            try text.withBytes { try file.append(lines: $0, receivedAt: 1_796_000_000...1_796_000_005) }
        }
        try file.finish()
        let test = try Tool.run("lz4", "-q", "-t", file.path)
        #expect(test.code == 0, "\(test.errors)")
        let content = try Tool.run("lz4", "-q", "-dc", file.path)
        #expect(content.output.utf8.elementsEqual((text + text + text).utf8))

        let reading = try Reading(opening: file.path)
        #expect(reading.delivered.joined().utf8.elementsEqual((text + text + text).utf8))
        let footer = try #require(reading.footer)
        #expect(footer.records == 3 * records && footer.contentBytes == 3 * text.utf8.count)
        #expect(footer.receivedAt == 1_796_000_000...1_796_000_005)
        #expect(try SegmentSummary(of: file.path).totals == file.totals)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import Testing

struct SegmentNameTests {
    @Test(arguments: [
        "1796000000000-00000000000000ff-0", "0000000000007-0123456789abcdef-9223372036854775807",
    ])
    func `a name and its text are one to one`(text: String) throws {
        let name = try #require(SegmentName(parsing: text))
        #expect(name.text == text)
        #expect(SegmentName(sealedFileName: name.sealedFileName) == name)
        #expect(SegmentName(openFileName: name.openFileName) == name)
        #expect(SegmentName(parsing: name.sealedFileName) == nil)
    }

    @Test(arguments: [
        "", "lost+found", ".nfs0001", "x.lz4~", ".x.swp", "1796000000000-00000000000000ff-",
        "1796000000000-00000000000000FF-0", "1796000000000-00000000000000ff-00", "1796000000000-00000000000000ff-01",
        "179600000000-00000000000000ff-0", "1796000000000-00000000000000ff-18446744073709551616",
        "1796000000000-00000000000000ff-0\n", "+796000000000-00000000000000ff-0", "1796000000000-00000000000000ff-0é",
        "1796000000000-00000000000000ff-٣", ".new-1796000000000-00000000000000ff-0",
    ])
    func `other names are foreign`(text: String) {
        #expect(SegmentName(parsing: text) == nil)
        #expect(SegmentName(sealedFileName: text + ".ndjson.lz4") == nil)
    }

    @Test func `names sort by age`() {
        let names = [(5, 9, 9), (5, 10, 0), (6, 1, 9), (6, 1, 10)].map {
            SegmentName(millisecondsSince1970: $0.0, writer: $0.1, sequence: $0.2)
        }
        #expect(names.reversed().sorted() == names)
    }
}

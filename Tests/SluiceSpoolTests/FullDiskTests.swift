// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// A filesystem of one megabyte that is really full.
@Suite(.enabled(if: SmallDisk.isPossible, "no filesystem can be mounted here"))
struct FullDiskTests {
    @Test func `a full disk refuses, loses nothing and is used again once there is room`() throws {
        let disk = try #require(SmallDisk())
        let fixture = try WriterFixture(root: disk.path)
        var options = SegmentWriterOptions()
        options.pauseAfterFailure = .milliseconds(50)
        options.sealBytes = 100_000
        let writer = SegmentWriter(root: fixture.root, options: options, handlers: fixture.handlers())
        var random = SeededGenerator(seed: 3)
        func line() -> String { (0..<20_000).map { _ in String(UInt8.random(in: 0...9, using: &random)) }.joined() }
        var accepted: [String] = []
        var refused = 0
        while refused < 200 {
            let text = line()
            do {
                try fixture.add(text, to: writer)
                accepted.append(text)
            } catch let error as SpoolError {
                #expect(error.code == .outOfSpace, "\(error)")
                refused += 1
            }
        }
        #expect(accepted.count > 20)
        #expect(writer.statistics.abandonedSegments <= 2)

        let before = Set(try fixture.readyLines())
        for name in try fixture.ready() { try FileSystem.remove("\(fixture.root)/ready/\(name.sealedFileName)") }
        try eventually("there is room again") {
            let text = line()
            guard (try? fixture.add(text, to: writer)) != nil else { return false }  // refused: the disk was full
            accepted.append(text)
            return true
        }
        writer.stop()
        let delivered = before.union(try fixture.readyLines())
        #expect(accepted.allSatisfy(delivered.contains))
        #expect(try fixture.names("incoming") == [])
    }
}

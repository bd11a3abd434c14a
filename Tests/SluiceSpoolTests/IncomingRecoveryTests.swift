// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

struct IncomingRecoveryTests {
    private let fixture: WriterFixture
    private let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 9, sequence: 0)

    init() throws { fixture = try WriterFixture() }

    private var incoming: String { "\(fixture.root)/incoming" }

    private func recover(_ clock: SystemClock = .system) throws -> IncomingRecovery {
        try IncomingRecovery(incoming: incoming, ready: "\(fixture.root)/ready", clock: clock)
    }

    private func open(_ name: SegmentName) throws -> SegmentFile {
        let file = try SegmentFile(creating: name, in: incoming, as: name.openFileName, createdAt: 1)
        try file.show()
        try "a\n".withBytes { try file.append($0, records: 1, receivedAt: 1...1) }
        return file
    }

    @Test func `a segment of a living writer stays, that of a dead one moves as it is`() throws {
        var file: SegmentFile? = try open(name)
        #expect(try recover().held == 1)
        let bytes = try FileSystem.contents(of: "\(incoming)/\(name.openFileName)", limit: 4_096)
        #expect(file?.totals.records == 1)
        file = nil
        #expect(try recover().recovered == [name])
        #expect(try fixture.names("incoming") == [])
        #expect(try FileSystem.contents(of: "\(fixture.root)/ready/\(name.sealedFileName)", limit: 4_096) == bytes)
        #expect(try fixture.readyLines() == ["a"])
        #expect(try recover().recovered == [])
    }

    @Test func `a taken name in ready is reported, and the others move`() throws {
        let second = SegmentName(millisecondsSince1970: 1_796_000_000_001, writer: 9, sequence: 1)
        _ = try open(name)
        _ = try open(second)
        _ = try File(opening: "\(fixture.root)/ready/\(name.sealedFileName)", O_WRONLY | O_CREAT)
        let recovery = try recover()
        #expect(recovery.recovered == [second])
        #expect(recovery.problems.map(\.code) == [.nameTaken])
    }

    @Test func `links, pipes, folders and foreign names are left alone and reported`() throws {
        let outside = TemporaryFolder()
        let target = try outside.write("precious", to: "target")
        func path(_ sequence: UInt64) -> String {
            let name = SegmentName(millisecondsSince1970: 1_796_000_000_000, writer: 9, sequence: sequence)
            return "\(incoming)/\(name.openFileName)"
        }
        try #require(symlink(target, path(1)) == 0)
        try #require(symlink("nowhere", path(2)) == 0)
        try #require(link(target, path(3)) == 0)
        try #require(mkfifo(path(4), 0o600) == 0)
        try FileSystem.makeFolder(path(5))
        for foreign in [".nfs0001", "x.lz4~", "lost+found", "a\nb", String(repeating: "n", count: 255)] {
            _ = try File(opening: "\(incoming)/\(foreign)", O_WRONLY | O_CREAT)
        }
        let before = try fixture.names("incoming")
        let recovery = try recover()
        #expect(recovery.recovered == [] && recovery.problems.count == 10)
        #expect(recovery.problems.allSatisfy { $0.disposition == .leaveAlone })
        #expect(try fixture.names("incoming") == before)
        #expect(try FileSystem.contents(of: target, limit: 100) == Array("precious".utf8))
    }

    @Test func `what a crash left before it was a segment is removed once it is old`() throws {
        let left = "\(incoming)/.new-\(name.openFileName)"
        _ = try File(opening: left, O_WRONLY | O_CREAT)
        let manual = ManualClock(wallMilliseconds: SystemClock.system.wallMilliseconds())
        #expect(try recover(manual.clock).problems == [])
        #expect(try fixture.names("incoming").count == 1)
        manual.advance(milliseconds: 120_000)
        let held = try File(opening: left, O_RDWR)
        #expect(try held.tryLock())
        _ = try recover(manual.clock)
        #expect(try fixture.names("incoming").count == 1)
        try held.unlock()
        _ = try recover(manual.clock)
        #expect(try fixture.names("incoming") == [])
    }

    @Test func `recoveries beside busy writers never take what is young, and lose nothing`() throws {
        var options = SegmentWriterOptions()
        options.sealBytes = 1
        let writers = (0..<3).map { _ in SegmentWriter(root: fixture.root, options: options) }
        let threads = writers.enumerated().map { index, writer in
            SystemThread(name: "producer") {
                for number in 0..<40 {
                    // An error shows in the lines below.
                    _ = try? "\(index)-\(number)\n".withBytes { try writer.append($0, count: 1, receivedAt: 1) }
                    _ = try? writer.flush()
                }
                writer.stop()
            }
        }
        var problems: [SpoolError] = []
        var recovered: [SegmentName] = []
        for _ in 0..<200 {
            let recovery = try recover()
            problems += recovery.problems
            recovered += recovery.recovered
        }
        for thread in threads { thread.join() }
        #expect(problems == [] && recovered == [])
        #expect(writers.allSatisfy { $0.statistics.lostSegments == 0 && $0.statistics.sealedSegments == 40 })
        #expect(Set(try fixture.readyLines()).count == 120)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Synchronization
import Testing

/// What a writer does when the disk, or somebody else, takes its files away.
struct WriterFaultTests {
    private let fixture: WriterFixture

    init() throws { fixture = try WriterFixture() }

    @Test func `a commit that hangs is answered, and so is what waits behind it`() throws {
        var options = SegmentWriterOptions()
        options.stallLimit = .milliseconds(80)
        let barrier = Barrier()
        let isFirst = Atomic(true)
        let fixture = fixture
        var handlers = fixture.handlers()
        // The commit thread hangs here as it would in a system call.
        handlers.committed = { _ in
            if isFirst.exchange(false, ordering: .relaxed) { barrier.wait() }
        }
        let writer = SegmentWriter(root: fixture.root, options: options, handlers: handlers)
        try "a\n".withBytes { try writer.append($0, count: 1, receivedAt: 1, token: 1) }
        try eventually("the commit hangs") { barrier.hasWaiters }
        try "b\n".withBytes { try writer.append($0, count: 1, receivedAt: 1, token: 2) }
        let error = #expect(throws: SpoolError.self) { try writer.flush() }
        #expect(error?.code == .stalled)
        #expect(fixture.answers.map(\.token) == [1, 2])
        #expect(fixture.answers.allSatisfy { $0.error?.code == .stalled })
        let refusal = #expect(throws: SpoolError.self) {
            try "c\n".withBytes { try writer.append($0, count: 1, receivedAt: 1) }
        }
        #expect(refusal?.code == .stalled)
        #expect(writer.statistics.stalledRequests == 2)

        barrier.open()
        try eventually("the writer takes records again") { writer.statistics.refusal == nil }
        try fixture.add("d", to: writer)
        #expect(fixture.answers.last?.error == nil && fixture.answers.count == 3)
        writer.stop()
        #expect(try fixture.readyLines() == ["a", "d"])
    }

    @Test func `nothing is acknowledged into a segment that was removed`() throws {
        let writer = SegmentWriter(root: fixture.root, handlers: fixture.handlers())
        try fixture.add("a", to: writer)
        let open = try #require(try fixture.names("incoming").first)
        try FileSystem.remove("\(fixture.root)/incoming/\(open)")
        let error = #expect(throws: SpoolError.self) { try fixture.add("b", to: writer) }
        #expect(error?.code == .lockLost)
        try fixture.add("c", to: writer)
        #expect(writer.statistics.lostSegments == 1)
        writer.stop()
        #expect(try fixture.readyLines() == ["c"])
        #expect(try fixture.ready().map(\.sequence) == [1])
    }

    @Test func `nothing is acknowledged into a folder that was removed or moved away`() throws {
        let writer = SegmentWriter(root: fixture.root, handlers: fixture.handlers())
        try fixture.add("a", to: writer)
        try FileSystem.move("\(fixture.root)/incoming", to: "\(fixture.root)/gone")
        for _ in 0..<3 { #expect(throws: SpoolError.self) { try fixture.add("b", to: writer) } }
        try eventually("the pause is over") { writer.statistics.refusal == nil }
        try FileSystem.makeFolder("\(fixture.root)/incoming")
        try fixture.add("c", to: writer)
        writer.stop()
        #expect(try fixture.readyLines() == ["c"])
    }

    @Test func `a removed segment is noticed when it is sealed`() throws {
        let writer = SegmentWriter(root: fixture.root, handlers: fixture.handlers())
        try fixture.add("a", to: writer)
        let open = try #require(try fixture.names("incoming").first)
        try FileSystem.remove("\(fixture.root)/incoming/\(open)")
        writer.stop()
        #expect(fixture.failures.map(\.code) == [.lockLost])
        #expect(fixture.sealed.isEmpty && writer.statistics.lostSegments == 1)
    }

    @Test func `a taken name in ready is never overwritten`() throws {
        let writer = SegmentWriter(root: fixture.root, handlers: fixture.handlers())
        try fixture.add("a", to: writer)
        let open = try #require(try fixture.names("incoming").first)
        let name = try #require(SegmentName(openFileName: open))
        let taken = try File(opening: "\(fixture.root)/ready/\(name.sealedFileName)", O_WRONLY | O_CREAT)
        try taken.write("mine")
        writer.stop()
        #expect(fixture.failures.map(\.code) == [.nameTaken])
        #expect(try taken.status().size == 4)
        #expect(try fixture.names("incoming") == [open])
    }

    @Test func `below the free space that must stay, nothing is taken`() throws {
        var options = SegmentWriterOptions()
        options.minimumFreeBytes = .max / 2
        let writer = SegmentWriter(root: fixture.root, options: options, handlers: fixture.handlers())
        let error = #expect(throws: SpoolError.self) { try fixture.add("a", to: writer) }
        #expect(error?.code == .outOfSpace)
        #expect(throws: SpoolError.self) { try fixture.add("b", to: writer) }
        writer.stop()
        #expect(try fixture.ready() == [] && fixture.names("incoming") == [])
        #expect(fixture.failures == [])
    }

    @Test func `the spool's limit counts disk blocks and lets go when segments are removed`() throws {
        var options = SegmentWriterOptions()
        options.maximumSpoolBytes = 300_000
        options.reservedBytes = 0
        options.sealBytes = 1
        let writer = SegmentWriter(root: fixture.root, options: options, handlers: fixture.handlers())
        var random = SeededGenerator(seed: 1)
        func add() throws {
            let text = (0..<40_000).map { _ in String(UInt8.random(in: 0...9, using: &random)) }.joined()
            try fixture.add(text, to: writer)
        }
        var accepted = 0
        let error = #expect(throws: SpoolError.self) {
            while accepted < 1_000 {
                try add()
                accepted += 1
            }
        }
        #expect(error?.code == .outOfSpace && error?.errnoCode == nil)
        #expect(accepted > 3 && accepted < 16)
        #expect(try fixture.ready().count == accepted)

        for name in try fixture.ready() { try FileSystem.remove("\(fixture.root)/ready/\(name.sealedFileName)") }
        try eventually("there is room again") { (try? add()) != nil }
        writer.stop()
    }
}

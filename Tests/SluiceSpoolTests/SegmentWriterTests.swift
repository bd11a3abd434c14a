// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Synchronization
import Testing

struct SegmentWriterTests {
    private let fixture: WriterFixture

    init() throws { fixture = try WriterFixture() }

    @Test func `requests of many threads are each kept whole and once`() throws {
        var options = SegmentWriterOptions()
        options.sealBytes = 40_000
        let writer = SegmentWriter(root: fixture.root, options: options, handlers: fixture.handlers())
        let threads = (0..<4).map { thread in
            SystemThread(name: "producer") {
                for request in 0..<500 {
                    let text = (0..<3).map { "{\"t\":\(thread),\"r\":\(request),\"i\":\($0)}\n" }.joined()
                    let token = UInt(thread * 1_000 + request)
                    // A full buffer is waited for; every other error shows in the counts below.
                    _ = try? text.withBytes {
                        try writer.append($0, count: 3, receivedAt: 1_796_000_000 + request, token: token, waits: true)
                    }
                    if request % 50 == 0 { _ = try? writer.flush() }
                }
            }
        }
        for thread in threads { thread.join() }
        try writer.flush()
        #expect(writer.statistics.committedRecords == 6_000 && writer.statistics.committedRequests == 2_000)
        #expect(writer.stop())

        let lines = try fixture.readyLines()
        #expect(lines.count == 6_000 && Set(lines).count == 6_000)
        for thread in 0..<4 {
            let own = lines.filter { $0.hasPrefix("{\"t\":\(thread),") }
            let expected = (0..<500).flatMap { request in
                (0..<3).map { "{\"t\":\(thread),\"r\":\(request),\"i\":\($0)}" }
            }
            #expect(own == expected)
        }
        #expect(fixture.answers.map(\.ticket) == Array(1...2_000))
        #expect(Set(fixture.answers.map(\.token)).count == 2_000)
        #expect(try fixture.names("incoming") == [])
        #expect(fixture.failures == [])
    }

    @Test func `names rise without gaps though the clock goes back, and every segment has its ledger line`() throws {
        let manual = ManualClock()
        let clock = SystemClock(
            wallMilliseconds: manual.clock.wallMilliseconds,
            monotonicNanoseconds: SystemClock.system.monotonicNanoseconds
        )
        var options = SegmentWriterOptions()
        options.sealBytes = 1
        let writer = SegmentWriter(root: fixture.root, options: options, clock: clock, handlers: fixture.handlers())
        for number in 0..<20 {
            try fixture.add("{\"n\":\(number)}", to: writer)
            manual.stepWall(milliseconds: number % 3 == 0 ? -5_000 : 1)
        }
        writer.stop()
        let names = try fixture.ready()
        #expect(names.map(\.sequence) == Array(0..<20))
        #expect(Set(names.map(\.writer)).count == 1)
        let times = names.map(\.millisecondsSince1970)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(try fixture.names("ready").compactMap { SegmentName(sealedFileName: $0) } == names)
        #expect(fixture.sealed == Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }))
        for name in names {
            let summary = try SegmentSummary(of: "\(fixture.root)/ready/\(name.sealedFileName)")
            #expect(summary.hasFooter && summary.totals.records == 1)
        }
    }

    @Test func `what is answered can be read from a copy of the open segment`() throws {
        let writer = SegmentWriter(root: fixture.root, handlers: fixture.handlers())
        for number in 0..<10 {
            try fixture.add("{\"n\":\(number)}", to: writer)
            let open = try #require(try fixture.names("incoming").first)
            let copy = try FileSystem.contents(of: "\(fixture.root)/incoming/\(open)", limit: 1 << 20)
            let reading = try Reading(of: copy, in: TemporaryFolder())
            #expect(reading.delivered.joined() == (0...number).map { "{\"n\":\($0)}\n" }.joined())
            #expect(reading.tornTail == nil)
        }
        writer.stop()
    }

    @Test func `a segment is sealed by age without further requests`() throws {
        var options = SegmentWriterOptions()
        options.sealAge = .milliseconds(20)
        let writer = SegmentWriter(root: fixture.root, options: options, handlers: fixture.handlers())
        try fixture.add("{}", to: writer)
        try eventually("the segment is sealed") { try fixture.ready().count == 1 }
        #expect(fixture.sealed.count == 1)
        writer.stop()
        #expect(try fixture.ready().count == 1)
    }

    @Test func `while many segments are ready, a segment grows older`() throws {
        for number in 0..<8 { try #require(mkfifo("\(fixture.root)/ready/\(number)", 0o600) == 0) }
        var options = SegmentWriterOptions()
        options.sealAge = .milliseconds(10)
        options.longSealAge = .seconds(600)
        options.readySegmentsBeforeLongAge = 4
        let writer = SegmentWriter(root: fixture.root, options: options, handlers: fixture.handlers())
        try fixture.add("{}", to: writer)
        let end = SystemClock.system.monotonicNanoseconds() + 100_000_000
        while SystemClock.system.monotonicNanoseconds() < end {
            try #require(fixture.sealed.isEmpty)
            usleep(5_000)
        }
        writer.stop()
        #expect(fixture.sealed.count == 1)
    }

    @Test func `a full buffer refuses and takes nothing`() throws {
        var options = SegmentWriterOptions()
        options.maximumBufferedBytes = 1_000
        let barrier = Barrier()
        let writer = SegmentWriter(
            root: fixture.root,
            options: options,
            handlers: fixture.handlers(completed: { barrier.wait() })
        )
        let line = String(repeating: "x", count: 400) + "\n"
        try line.withBytes { try writer.append($0, count: 1, receivedAt: 1) }
        try eventually("the first commit ends") { barrier.hasWaiters }
        try line.withBytes { try writer.append($0, count: 1, receivedAt: 1) }
        try line.withBytes { try writer.append($0, count: 1, receivedAt: 1) }
        let error = #expect(throws: SpoolError.self) {
            try line.withBytes { try writer.append($0, count: 1, receivedAt: 1) }
        }
        #expect(error?.code == .overloaded)
        barrier.open()
        writer.stop()
        #expect(try fixture.readyLines().count == 3)
    }

    @Test func `requests of more than a frame are split between requests only`() throws {
        var options = SegmentWriterOptions()
        options.maximumBufferedBytes = 64 << 20
        let barrier = Barrier()
        let writer = SegmentWriter(
            root: fixture.root,
            options: options,
            handlers: fixture.handlers(completed: { barrier.wait() })
        )
        try "first\n".withBytes { try writer.append($0, count: 1, receivedAt: 1) }
        try eventually("the first commit ends") { barrier.hasWaiters }
        let line = String(repeating: "x", count: 1_500_000) + "\n"
        for _ in 0..<7 { try line.withBytes { try writer.append($0, count: 1, receivedAt: 2) } }
        let error = #expect(throws: SpoolError.self) {
            try (String(repeating: "x", count: 4 << 20) + "\n").withBytes {
                try writer.append($0, count: 1, receivedAt: 3)
            }
        }
        #expect(error?.code == .tooLarge)
        barrier.open()
        writer.stop()
        let name = try #require(try fixture.ready().first)
        let reading = try Reading(opening: "\(fixture.root)/ready/\(name.sealedFileName)")
        #expect(reading.delivered.map(\.utf8.count) == [6, 3_000_002, 3_000_002, 3_000_002, 1_500_001])
        #expect(reading.footer?.receivedAt == 1...2)
    }

    @Test func `after stop nothing is taken, and an idle writer leaves no file`() throws {
        let writer = SegmentWriter(root: fixture.root, handlers: fixture.handlers())
        #expect(writer.stop())
        let error = #expect(throws: SpoolError.self) { try fixture.add("{}", to: writer) }
        #expect(error?.code == .closed)
        #expect(try fixture.names("incoming") == [] && fixture.ready() == [])
    }

    @Test func `a ledger line that cannot be written does not keep the segment back`() throws {
        let ledgerFault = SpoolError(.outOfSpace, path: "ledger", detail: "full")
        let writer = SegmentWriter(
            root: fixture.root,
            handlers: fixture.handlers(ledger: { _ throws(SpoolError) in throw ledgerFault })
        )
        try fixture.add("{}", to: writer)
        writer.stop()
        #expect(fixture.failures == [ledgerFault])
        #expect(try fixture.readyLines() == ["{}"])
    }
}

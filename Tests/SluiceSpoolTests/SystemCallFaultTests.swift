// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSpool
import SluiceSystem
import SluiceTestSupport
import Testing

/// Real system calls that fail or hang under a writer, and the order of those that do not.
///
/// Case C42.
@Suite(.enabled(if: Tracer.isPossible, "strace is missing or may not attach"))
struct SystemCallFaultTests {
    private let fixture: WriterFixture

    init() throws { fixture = try WriterFixture() }

    private func writer(_ change: (inout SegmentWriterOptions) -> Void = { _ in }) -> SegmentWriter {
        var options = SegmentWriterOptions()
        options.sealAge = .seconds(600)
        options.pauseAfterFailure = .milliseconds(50)
        change(&options)
        return SegmentWriter(root: fixture.root, options: options, handlers: fixture.handlers())
    }

    @Test func `after a failed fdatasync the file is cut, never synced again and a new one begins`() throws {
        let writer = writer()
        try fixture.add("a", to: writer)
        let tracer = try Tracer(try #require(fixture.commitThread), "inject=fdatasync:error=EIO:when=1")
        let error = #expect(throws: SpoolError.self) { try fixture.add("b", to: writer) }
        #expect(error?.code == .io && error?.errnoCode == EIO)
        try fixture.add("c", to: writer)
        let calls = try tracer.stop()
        writer.stop()

        #expect(fixture.answers.map { $0.error?.code } == [nil, .io, nil])
        #expect(try fixture.readyLines() == ["a", "c"])
        let names = try fixture.ready()
        #expect(names.map(\.sequence) == [0, 1])
        #expect(fixture.sealed == [names[1]: 1])
        #expect(try SegmentSummary(of: "\(fixture.root)/ready/\(names[0].sealedFileName)").hasFooter == false)
        let syncs = calls.filter { $0.contains("sync(") && $0.contains(names[0].text) }
        #expect(syncs.count == 1, "\(calls)")
        #expect(writer.statistics.abandonedSegments == 1)
    }

    @Test func `disks that fail again and again are left in peace for a while`() throws {
        let writer = writer()
        try fixture.add("a", to: writer)
        let tracer = try Tracer(try #require(fixture.commitThread), "inject=fdatasync:error=EIO:when=1..3")
        var failures = 0
        try eventually("the disk works again") {
            do {
                try fixture.add("b", to: writer)
                return true
            } catch {
                failures += 1
                return false
            }
        }
        _ = try tracer.stop()
        writer.stop()
        #expect(writer.statistics.failedCommits == 3 && failures > 3)
        #expect(try fixture.ready().map(\.sequence) == [0, 1, 2, 3])
        #expect(try fixture.readyLines() == ["a", "b"])
    }

    @Test func `a write without room is refused for a while and nothing durable is lost`() throws {
        let writer = writer()
        try fixture.add("a", to: writer)
        let tracer = try Tracer(try #require(fixture.commitThread), "inject=write:error=ENOSPC:when=1")
        let error = #expect(throws: SpoolError.self) { try fixture.add("b", to: writer) }
        #expect(error?.code == .outOfSpace)
        let refused = #expect(throws: SpoolError.self) {
            try "b\n".withBytes { try writer.append($0, count: 1, receivedAt: 1) }
        }
        #expect(refused?.code == .outOfSpace)
        try eventually("the pause is over") { writer.statistics.refusal == nil }
        try fixture.add("c", to: writer)
        _ = try tracer.stop()
        writer.stop()
        #expect(try fixture.readyLines() == ["a", "c"])
    }

    @Test func `a file whose name is not durable acknowledges nothing`() throws {
        let writer = writer { $0.sealBytes = 1 }
        try fixture.add("a", to: writer)
        try eventually("the first segment is sealed") { try fixture.ready().count == 1 }
        let tracer = try Tracer(try #require(fixture.commitThread), "inject=fsync:error=EIO:when=1")
        #expect(throws: SpoolError.self) { try fixture.add("b", to: writer) }
        try fixture.add("c", to: writer)
        _ = try tracer.stop()
        writer.stop()
        #expect(try fixture.readyLines() == ["a", "c"])
        #expect(try fixture.ready().map(\.sequence) == [0, 1, 2])
    }

    @Test func `a segment whose seal fails keeps every record`() throws {
        let writer = writer { $0.sealBytes = 1 }
        try fixture.add("a", to: writer)
        try eventually("the first segment is sealed") { try fixture.ready().count == 1 }
        // The first fsync is that of incoming/, the second that of the finished file.
        let tracer = try Tracer(try #require(fixture.commitThread), "inject=fsync:error=EIO:when=2")
        try fixture.add("b", to: writer)
        try eventually("the segment is given up") { try fixture.ready().count == 2 }
        let calls = try tracer.stop()
        writer.stop()
        #expect(fixture.failures.map(\.code) == [.io])
        #expect(try fixture.readyLines() == ["a", "b"])
        let name = try #require(try fixture.ready().last)
        #expect(calls.filter { $0.contains("fsync(") && $0.contains(name.text) }.count == 1, "\(calls)")
    }

    @Test func `a hanging fdatasync is answered in time, and its records are delivered once it returns`() throws {
        let writer = writer { $0.stallLimit = .milliseconds(100) }
        try fixture.add("a", to: writer)
        let tracer = try Tracer(try #require(fixture.commitThread), "inject=fdatasync:delay_enter=600000:when=1")
        let error = #expect(throws: SpoolError.self) { try fixture.add("b", to: writer) }
        #expect(error?.code == .stalled)
        #expect(writer.stop(within: .milliseconds(1)) == false)
        #expect(writer.stop())
        _ = try tracer.stop()
        #expect(try fixture.readyLines() == ["a", "b"])
        #expect(fixture.answers.map { $0.error?.code } == [nil, .stalled])
    }

    @Test func `calls come in the order that survives a power loss`() throws {
        let writer = writer { $0.sealBytes = 1 }
        try fixture.add("a", to: writer)
        try eventually("the first segment is sealed") { try fixture.ready().count == 1 }
        let tracer = try Tracer(try #require(fixture.commitThread))
        try fixture.add("b", to: writer)
        try eventually("the second segment is sealed") { try fixture.ready().count == 2 }
        writer.stop()
        let calls = try tracer.stop()
        let name = try #require(try fixture.ready().last).text
        // Each step is looked for behind the one before.
        let steps: [(call: String, part: String)] = [
            ("openat(", "incoming/.new-\(name).open"),
            ("flock(", "incoming/.new-\(name).open"),
            ("write(", "incoming/.new-\(name).open"),
            ("renameat2(", "incoming/\(name).open\", RENAME_NOREPLACE"),
            ("fsync(", "/incoming>"),
            ("write(", "incoming/\(name).open>"),
            ("fdatasync(", "incoming/\(name).open>"),
            ("write(", "incoming/\(name).open>"),
            ("fsync(", "incoming/\(name).open>"),
            ("renameat2(", "ready/\(name).ndjson.lz4\", RENAME_NOREPLACE"),
            ("fsync(", "/ready>"),
            ("fsync(", "/incoming>"),
        ]
        var rest = calls[...]
        for step in steps {
            let index = try #require(
                rest.firstIndex { $0.hasPrefix(step.call) && $0.contains(step.part) },
                "\(step) is missing in:\n\(calls.joined(separator: "\n"))"
            )
            rest = rest[(index + 1)...]
        }
        let opening = try #require(calls.first { $0.hasPrefix("openat(") && $0.contains(name) })
        #expect(opening.contains("O_CLOEXEC") && opening.contains("O_EXCL"))
    }
}

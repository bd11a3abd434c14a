// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceSystem
import SluiceTelemetry
import SluiceTestSupport
import Testing

struct LoggerTests {
    @Test func `an entry below the level is neither built nor written`() {
        let recorder = LogRecorder()
        var logger = recorder.logger(level: .notice)
        var built = 0
        func message() -> String {
            built += 1
            return "Segment sealed"
        }
        logger.info(message())
        #expect(built == 0)
        logger.logLevel = .info
        logger.info(message())
        #expect(built == 1)
        #expect(recorder.messages == ["Segment sealed"])
    }

    @Test func `metadata of a message wins over the logger's own`() throws {
        let recorder = LogRecorder()
        var logger = recorder.logger()
        logger[metadataKey: "worker"] = "a"
        logger[metadataKey: "spool"] = "s"
        logger.error("Write failed", metadata: ["worker": "b", "errno": 28])
        let entry = try #require(recorder.entries.first)
        #expect(entry.metadata == ["worker": "b", "spool": "s", "errno": 28])
        #expect(entry.level == .error)
    }

    @Test func `levels are ordered as swift-log's`() {
        #expect(Logger.Level.allCases.sorted() == [.trace, .debug, .info, .notice, .warning, .error, .critical])
    }
}

struct LogFormatTests {
    private func entry(_ metadata: Logger.Metadata = [:], message: String = "Segment sealed") -> Logger.Entry {
        Logger.Entry(time: 1_796_000_000_123, level: .info, label: "relay", message: message, metadata: metadata)
    }

    private func line(_ format: LogFormat, _ entry: Logger.Entry) -> String {
        String(decoding: format.line(entry), as: UTF8.self)
    }

    @Test func `text has the time, level, label, message and sorted values`() {
        let text = line(.text, entry(["segment.name": "a b", "records": 50, "ratio": 0.5, "done": true, "x": "y"]))
        #expect(
            text == """
                2026-11-30T00:53:20.123Z info relay: Segment sealed done=true ratio=0.5 records=50 segment.name="a b" x=y

                """
        )
    }

    @Test func `JSON keeps numbers and truth values`() {
        let text = line(.json, entry(["records": 50, "done": true, "path": #"a"b\c"#, "time": "now"]))
        #expect(
            text == #"""
                {"time":"2026-11-30T00:53:20.123Z","level":"info","label":"relay","message":"Segment sealed","done":true,"path":"a\"b\\c","records":50,"metadata.time":"now"}

                """#
        )
    }

    @Test(arguments: LogFormat.allCases)
    func `nothing in a value ends the line or reaches the terminal`(format: LogFormat) {
        let hostile = "a\nb\r\u{1B}[2Jc\u{0}\u{85}\u{202E}d\u{2028}"
        let bytes = format.line(entry(["value": .string(hostile)], message: hostile))
        #expect(bytes.filter { $0 < 0x20 } == [UInt8(ascii: "\n")])
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(!text.unicodeScalars.contains { $0.value == 0x85 || $0.value == 0x202E || $0.value == 0x2028 })
        #expect(text.contains(#"a\nb\r\u001b[2Jc\u0000\u0085\u202ed\u2028"#))
    }

    @Test(arguments: LogFormat.allCases)
    func `a line fits into one write of a pipe`(format: LogFormat) {
        var metadata: Logger.Metadata = [:]
        for index in 0..<50 { metadata["key\(index)"] = .string(String(repeating: "\u{1}é", count: 5000)) }
        let bytes = format.line(entry(metadata))
        #expect(bytes.count <= LogFormat.maximumLineBytes)
        #expect(bytes.last == UInt8(ascii: "\n"))
    }
}

struct RepeatLimitTests {
    private let allowance = RepeatLimit.Allowance(burst: 3, perSecond: 0.5)

    @Test func `a burst passes, then a trickle that says what was dropped`() {
        var limit = RepeatLimit()
        let first = (0..<10).map { _ in limit.judge("disk full", allowance, milliseconds: 0) }
        #expect(first.prefix(3).allSatisfy { $0 == .write(dropped: 0) })
        #expect(first.dropFirst(3).allSatisfy { $0 == .drop })
        #expect(limit.judge("disk full", allowance, milliseconds: 1000) == .drop)
        #expect(limit.judge("disk full", allowance, milliseconds: 2000) == .write(dropped: 8))
    }

    @Test func `messages do not share an allowance`() {
        var limit = RepeatLimit()
        for _ in 0..<10 { _ = limit.judge("disk full", allowance, milliseconds: 0) }
        #expect(limit.judge("segment sealed", allowance, milliseconds: 0) == .write(dropped: 0))
    }

    @Test func `memory is bounded however many messages there are`() {
        var limit = RepeatLimit(maximumMessages: 2)
        for index in 0..<100 {
            #expect(limit.judge("message \(index)", allowance, milliseconds: Int64(index)) == .write(dropped: 0))
        }
    }
}

struct LogOutputTests {
    private struct Pipe {
        var readEnd: Int32
        var writeEnd: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            (readEnd, writeEnd) = (ends[0], ends[1])
        }

        func read() -> String {
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let count = Glibc.read(readEnd, &bytes, bytes.count)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }

        func close() {
            _ = Glibc.close(readEnd)
            _ = Glibc.close(writeEnd)
        }
    }

    @Test func `a descriptor that is no terminal gets JSON lines`() throws {
        let pipe = try Pipe()
        defer { pipe.close() }
        LogOutput(descriptor: pipe.writeEnd).logger(label: "x").info("Started", metadata: ["pid": 1])
        let text = pipe.read()
        #expect(text.hasPrefix(#"{"time":""#))
        #expect(text.hasSuffix(#""level":"info","label":"x","message":"Started","pid":1}"# + "\n"))
    }

    @Test func `a reader that stalls does not hold the program up and learns what it missed`() throws {
        let pipe = try Pipe()
        defer { pipe.close() }
        let output = LogOutput(descriptor: pipe.writeEnd, format: .text, patienceMilliseconds: 1)
        let logger = output.logger(label: "x")
        for index in 0..<2000 {
            logger.info("Message \(index)", metadata: ["pad": .string(String(repeating: "x", count: 900))])
        }
        var text = pipe.read()
        #expect(text.utf8.count <= 65536)
        logger.info("After")
        text = pipe.read()
        #expect(text.contains("After log.lost_lines=19"))
        logger.info("Later")
        #expect(!pipe.read().contains("lost_lines"))
    }

    @Test func `a message that repeats is limited and says how often`() throws {
        let pipe = try Pipe()
        defer { pipe.close() }
        let clock = ManualClock()
        let logger = LogOutput(descriptor: pipe.writeEnd, format: .text, clock: clock.clock).logger(label: "x")
        for _ in 0..<1000 { logger.error("Disk full") }
        #expect(pipe.read().split(separator: "\n").count == 20)
        clock.advance(milliseconds: 5000)
        logger.error("Disk full")
        #expect(pipe.read().contains("Disk full log.dropped_repeats=980\n"))
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import SluiceCommands
import SluiceEvents
import SluiceGraphJSON
import SluiceJSON
import SluiceRelay
import SluiceSpool
import SluiceSystem

/// `sluice-bench micro`: the steps of an event's way, one by one, in this process.
struct MicroBenchmark: Command {
    static let abstract = "Measure each step of an event's way by itself."
    static let usage = BenchmarkOptions.usage
    static let help = """
        Runs each step on one thread and without input or output: parse is simdjson over a body of 20 events; judge is
        that, the validation of the events and the writing of their records, which are one pass; frame makes the groups
        of a segment; decode reads them back, record by record; read parses a record and finds its members; transform
        makes the event of a record; encode makes the body of a request of 50 events.

        Options:
        \(HelpText.table(BenchmarkOptions.help(events: 1_000_000, "Events of about 430 bytes for each step.")))

        Exit codes: 0 measured; 70 a step did not do what it should.
        """

    private let options: BenchmarkOptions

    init(_ arguments: inout Arguments, _ context: CommandContext) throws(UsageError) {
        options = try BenchmarkOptions(&arguments, events: 1_000_000)
        _ = try arguments.remaining()
    }

    func run(_ context: CommandContext) async throws -> ExitCode {
        try options.measure("micro", warmUp: options.shortRun, context) { folder, events in
            let steps = try MicroSteps(folder)
            var samples: [BenchmarkOptions.Sample] = []
            for (name, step) in steps.all {
                let cpu = Self.cpuSeconds()
                let watch = Stopwatch()
                let count = try step(events)
                samples.append(("\(name)_events_per_second", Double(count) / watch.seconds))
                samples.append(
                    ("\(name)_cpu_seconds_per_million", (Self.cpuSeconds() - cpu) / Double(count) * 1e6)
                )
            }
            samples.append(("rss_anon_mib", Self.anonymousMebibytes))
            samples.append(("disk_bytes_per_event", steps.diskBytesPerEvent))
            return samples
        }
        return .ok
    }

    /// User and system time of this process.
    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static var anonymousMebibytes: Double {
        let text = (try? FileSystem.contents(ofProc: "/proc/self/status")) ?? []  // no /proc here
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") where line.hasPrefix("RssAnon:") {
            let number = line.split(separator: " ").dropLast().last.flatMap { Double($0) }
            return (number ?? 0) / 1024
        }
        return 0
    }
}

/// The steps, each with what the one before it made.
private final class MicroSteps {
    private static let groupRecords = 2000
    private static let requestEvents = 50

    private let body: ByteBuffer
    private let contract: Contract
    private var judge = EventJudge()
    private let parser = JSONParser(maximumBytes: 1 << 20)
    /// What a commit would take together.
    private var group = ByteBuffer()
    /// Where each line of the group ends.
    private var lineEnds: [Int] = []
    private var texts = ByteBuffer()
    private var textEnds: [Int] = []
    private let segment: String
    private(set) var diskBytesPerEvent = 0.0

    init(_ folder: String) throws {
        var body = ByteBuffer()
        body.append(SampleBatch(20).body)
        self.body = body
        contract = try Contract(parsing: Array(SampleBatch.contract.utf8), file: "bench")
        segment = "\(folder)/segment"
        for number in 0..<Self.groupRecords {
            SampleSpool.append(number, receivedAt: SampleSpool.firstSecond, recordsPerSecond: 5000, to: &group)
            lineEnds.append(group.count)
        }
        try writeSegment(folder)
        for number in 0..<Self.requestEvents {
            let record = try SpooledRecord(try parser.parse(line(number)))
            try EventTransform(timestampPrecision: 1).append(record, to: &texts)
            textEnds.append(texts.count)
        }
    }

    private func writeSegment(_ folder: String) throws {
        let name = SegmentName(millisecondsSince1970: 1, writer: 1, sequence: 0)
        let file = try SegmentFile(creating: name, in: folder, as: "segment", createdAt: SampleSpool.firstSecond)
        for _ in 0..<20 {
            try file.append(
                group.bytes,
                records: Self.groupRecords,
                receivedAt: SampleSpool.firstSecond...SampleSpool.firstSecond
            )
        }
        try file.finish()
        diskBytesPerEvent = Double(file.fileBytes) / Double(20 * Self.groupRecords)
    }

    /// A record of the group, followed by more readable bytes.
    private func line(_ number: Int) -> UnsafeRawBufferPointer {
        let start = number == 0 ? 0 : lineEnds[number - 1]
        return UnsafeRawBufferPointer(rebasing: group.bytes[start..<lineEnds[number] - 1])
    }

    /// Each does its work for about so many events and gives their number.
    var all: [(String, (Int) throws -> Int)] {
        [
            ("parse", parse), ("judge", judge), ("frame", frame), ("decode", decode), ("read", read),
            ("transform", transform), ("encode", encode),
        ]
    }

    private func parse(_ events: Int) throws -> Int {
        for _ in 0..<events / 20 { _ = try parser.parse(body.bytes) }
        return events / 20 * 20
    }

    private func judge(_ events: Int) throws -> Int {
        var records = ByteBuffer()
        var verdict = BatchVerdict()
        let admission = Admission(receivedAt: SystemClock.system.wallSeconds, collection: "mobile_events")
        for _ in 0..<events / 20 {
            records.removeAll()
            try judge.judge(body.bytes, under: admission, by: contract, records: &records, verdict: &verdict)
            guard verdict.accepted == 20 else { throw CommandError(.software, "the judge rejected events") }
        }
        return events / 20 * 20
    }

    private func frame(_ events: Int) throws -> Int {
        let encoder = SegmentEncoder()
        let rounds = max(1, events / Self.groupRecords)
        for _ in 0..<rounds { _ = encoder.encode(group.bytes, records: Self.groupRecords, receivedAt: 1...1) }
        return rounds * Self.groupRecords
    }

    private func decode(_ events: Int) throws -> Int {
        var count = 0
        var frame = ByteBuffer()
        while count < events {
            let reader = try SegmentReader(opening: segment)
            reading: while true {
                switch try reader.next(into: &frame) {
                case .frame: count += frame.bytes.lineCount
                case .end: break reading
                default: throw CommandError(.software, "the segment is damaged")
                }
            }
        }
        return count
    }

    private func read(_ events: Int) throws -> Int {
        for number in 0..<events { _ = try SpooledRecord(try parser.parse(line(number % Self.groupRecords))) }
        return events
    }

    private func transform(_ events: Int) throws -> Int {
        let transform = EventTransform(timestampPrecision: 1)
        var output = ByteBuffer()
        let record = try SpooledRecord(try parser.parse(line(0)))
        for _ in 0..<events {
            output.removeAll()
            try transform.append(record, to: &output)
        }
        return events
    }

    private func encode(_ events: Int) throws -> Int {
        let encoder = RequestEncoder(shape: .sharedTimestamp, apiKey: "bench")
        let pieces = textEnds.indices.map { index in
            UnsafeRawBufferPointer(rebasing: texts.bytes[(index == 0 ? 0 : textEnds[index - 1])..<textEnds[index]])
        }
        let times = [Int](repeating: 1, count: pieces.count)
        var body = ByteBuffer()
        let rounds = max(1, events / Self.requestEvents)
        Array("mobile_events".utf8).withUnsafeBytes { collection in
            times.withUnsafeBufferPointer { times in
                pieces.withUnsafeBufferPointer { pieces in
                    for _ in 0..<rounds {
                        body.removeAll()
                        encoder.encode(collection: collection, timestamps: times, events: pieces, into: &body)
                    }
                }
            }
        }
        return rounds * Self.requestEvents
    }
}

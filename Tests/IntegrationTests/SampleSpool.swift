// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem
import SluiceTestSupport

/// A spool with segments that a test wrote itself, without any program.
struct SampleSpool {
    let folder = TemporaryFolder()
    let spool: SpoolFolder
    private let writer: UInt64 = 0x0123_4567_89AB_CDEF

    init() throws {
        spool = try SpoolFolder.open(folder.path("spool"), role: .writer)
    }

    var path: String { spool.root }

    func name(_ sequence: Int) -> SegmentName {
        SegmentName(
            millisecondsSince1970: 1_796_000_000_000 + sequence,
            writer: writer,
            sequence: UInt64(sequence)
        )
    }

    /// A record as the endpoint writes it.
    static func record(
        _ id: String,
        event: String = "screen_viewed",
        timestamp: Int = 1_796_000_000,
        quarantine: String? = nil
    ) -> String {
        let reason = quarantine.map { #""quarantine":{"reason":"\#($0)","detail":""},"# } ?? ""
        return """
            {"received_at":1796000000,"collection":"c","timestamp":\(timestamp),\(reason)"trusted":{},"envelope":{"event":"\(event)",\
            "event_id":"\(id)","occurred_at":1796000000,"anonymous_id":"a","session_id":"s","app_version":"1",\
            "build_number":"1","platform":"ios","schema_version":1,"properties":{}}}

            """
    }

    /// Seals a segment into `ready/`, one frame for each group of ids, and returns its name.
    @discardableResult
    func seal(_ groups: [[String]], sequence: Int = 0, footer: Bool = true) throws -> SegmentName {
        try seal(frames: groups.map { $0.map { Self.record($0) } }, sequence: sequence, footer: footer)
    }

    /// The same from records as they stand in the file.
    @discardableResult
    func seal(frames: [[String]], sequence: Int = 0, footer: Bool = true) throws -> SegmentName {
        let name = name(sequence)
        try write(frames, name, in: spool.ready, as: name.sealedFileName, footer: footer)
        let records = frames.joined().count
        try Ledger(in: spool).append([.sealed(name, records: records)])
        return name
    }

    /// Writes a segment's file and closes it.
    func write(_ frames: [[String]], _ name: SegmentName, in folder: String, as fileName: String, footer: Bool) throws {
        let file = try SegmentFile(creating: name, in: folder, as: fileName, createdAt: 1_796_000_000)
        for frame in frames {
            var content = ByteBuffer()
            for record in frame { content.append(record) }
            try file.append(content.bytes, records: frame.count, receivedAt: 1_796_000_000...1_796_000_000)
        }
        try file.finish(footer: footer)
    }

    /// Seals a segment all of whose records a relay then put into quarantine, an entry each, and finished.
    @discardableResult
    func quarantine(
        _ ids: [String],
        sequence: Int,
        reason: String = "upstream_rejected",
        event: String = "screen_viewed",
        at time: Int = 1_796_000_100,
        admission: String? = nil
    ) throws -> SegmentName {
        let segment = try seal([ids], sequence: sequence)
        let writer = try QuarantineWriter(for: segment, in: spool, readsExisting: false)
        for (index, id) in ids.enumerated() {
            let entry = QuarantineEntry(
                quarantinedAt: time,
                reason: reason,
                detail: "HTTP 400: no\u{1B}[2J",
                status: 400,
                attempts: 2,
                origin: RecordOrigin(segment: segment, frame: 100, index: index)
            )
            let record = Self.record(id, event: event, quarantine: admission)
            Array(record.utf8.dropLast()).withUnsafeBytes { _ = writer.append(entry, record: $0) }
        }
        try writer.finish()
        var counts = OutcomeCounts()
        counts.quarantined = ids.count
        try Ledger(in: spool).append([.finished(segment, counts)])
        try FileSystem.remove(spool.ready(segment))
        try FileSystem.removeIfPresent(spool.progress(segment))
        return segment
    }

    /// Names and lengths of all files, to see whether something changed.
    func content() throws -> [String] {
        try ["ready", "incoming", "progress", "quarantine", "."].flatMap { folder in
            try FileSystem.names(in: "\(path)/\(folder)").filter { $0 != "lock" }.map { name in
                "\(folder)/\(name) \(try FileStatus(of: "\(path)/\(folder)/\(name)").size)"
            }
        }
    }

    /// Overwrites one byte of a file.
    static func flipByte(_ path: String, at offset: Int) throws {
        var bytes = try FileSystem.contents(of: path, limit: 64 << 20)
        bytes[offset] ^= 0x10
        let file = try File(opening: path, 1)  // O_WRONLY
        try bytes.withUnsafeBytes { try file.write($0) }
    }

    /// Runs `sluice-relay` on this spool.
    func relay(_ arguments: String...) throws -> ProcessRunner.Result {
        try ProcessRunner().run("sluice-relay", arguments + ["--spool", path])
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceSpool
import SluiceSystem

/// Fills a spool with sealed segments of made-up records of about 435 bytes an envelope.
struct SampleSpool {
    var folder: SpoolFolder
    /// Records that share one timestamp, so that full chunks are possible.
    var recordsPerSecond = 5_000
    var recordsPerSegment = 60_000
    /// The time of the first record.
    static let firstSecond = 1_796_000_000

    /// Writes `count` records.
    ///
    /// - Returns: bytes of NDJSON and bytes on disk.
    func fill(_ count: Int, from first: Int = 0) throws -> (content: Int, disk: Int) {
        let ledger = try Ledger(in: folder)
        let writer = UInt64.random(in: .min ... .max)
        let now = SystemClock.system.wallSeconds
        let milliseconds = Int(SystemClock.system.wallMilliseconds())
        var sizes = (content: 0, disk: 0)
        var written = 0
        var sequence: UInt64 = 0
        var lines = ByteBuffer(capacity: 4 << 20)
        while written < count {
            let name = SegmentName(
                millisecondsSince1970: milliseconds + Int(sequence),
                writer: writer,
                sequence: sequence
            )
            let segment = try SegmentFile(creating: name, in: folder.ready, as: name.sealedFileName, createdAt: now)
            let end = min(count, written + recordsPerSegment)
            while written < end {
                lines.removeAll()
                let before = written
                while written < end && lines.count < 1 << 20 {
                    Self.append(
                        first + written,
                        receivedAt: now,
                        recordsPerSecond: recordsPerSecond,
                        to: &lines
                    )
                    written += 1
                }
                sizes.content += lines.count
                try segment.append(lines.bytes, records: written - before, receivedAt: now...now)
            }
            try ledger.append([.sealed(name, records: segment.totals.records)])
            try segment.finish()
            sizes.disk += segment.fileBytes
            sequence += 1
        }
        return sizes
    }

    /// Appends the record of that number, a line.
    static func append(_ number: Int, receivedAt: Int, recordsPerSecond: Int, to lines: inout ByteBuffer) {
        let second = firstSecond + number / recordsPerSecond
        let mixed = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
        lines.append("{\"received_at\":")
        lines.append(decimal: receivedAt)
        lines.append(",\"collection\":\"mobile_events\",\"timestamp\":")
        lines.append(decimal: second)
        lines.append(",\"contract\":{\"version\":\"bench-1\",\"hash\":\"0011223344556677\"},\"trusted\":{},")
        lines.append("\"envelope\":{\"event\":\"report_exported\",\"event_id\":\"")
        append(identifier: mixed, number, to: &lines)
        lines.append("\",\"occurred_at\":")
        lines.append(decimal: second)
        lines.append(",\"anonymous_id\":\"anon_")
        append(identifier: mixed >> 17 &* 31, number % 977, to: &lines)
        lines.append("\",\"session_id\":\"ses_")
        append(identifier: mixed >> 9 &* 17, number % 4973, to: &lines)
        lines.append("\",\"user_id\":null,\"app_version\":\"4.8.0\",\"build_number\":\"842\",\"platform\":\"ios\",")
        lines.append("\"schema_version\":1,\"properties\":{\"report_type\":\"retention\",\"row_count\":")
        lines.append(decimal: Int(mixed % 100_000))
        lines.append(",\"locale\":\"de_DE\",\"duration_ms\":")
        lines.append(decimal: Int(mixed >> 8 % 9_000))
        lines.append(",\"is_shared\":true}}}\n")
    }

    /// Appends 36 characters, shaped like a UUID.
    private static func append(identifier high: UInt64, _ low: Int, to lines: inout ByteBuffer) {
        lines.append(upTo: 36) { room in
            var place = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    room[place] = UInt8(ascii: "-")
                    place += 1
                }
                let word = digit < 16 ? high : 0x1000_0000_0000_0000 + UInt64(low)
                let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - digit % 16 * 4)) & 15
                room[place] = value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                place += 1
            }
            return place
        }
    }
}

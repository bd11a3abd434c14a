// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem

/// Each record of a progress file is resolved by the first whole entry that names it, whatever lies between the entries.
///
/// The input is a row of pieces. A piece begins with a byte: an even one is followed by the 20 bytes of an entry, which
/// get their checksum; an odd one by half as many bytes of rubbish.
final class ProgressFuzz {
    private struct Entry {
        var frame: Int
        var first: Int
        var count: Int
        var outcome: Outcome
    }

    private let scratch: ScratchSpool
    private let seed: UInt64

    init() throws {
        scratch = try ScratchSpool()
        // The seed that entries of this segment have, as spool/README.md says.
        let segment = ScratchSpool.segment
        let fields = (
            UInt64(segment.millisecondsSince1970).littleEndian, segment.writer.littleEndian,
            segment.sequence.littleEndian
        )
        seed = withUnsafeBytes(of: fields) { Checksum.xxh3($0, seed: 0x7072_6F67) }
    }

    func check(_ input: UnsafeRawBufferPointer) throws {
        var bytes: [UInt8] = []
        var entries: [Entry] = []
        var rest = input
        while let kind = rest.first {
            rest = rest.from(1)
            if kind & 1 == 1 {
                bytes += rest.prefix(Int(kind) / 2)
                rest = rest.from(Int(kind) / 2)
            } else {
                guard rest.count >= 20 else { break }
                let body = UnsafeRawBufferPointer(rebasing: rest[..<20])
                bytes += body
                withUnsafeBytes(of: Checksum.xxh3(body, seed: seed).littleEndian) { bytes += $0 }
                if let entry = Self.entry(body) { entries.append(entry) }
                rest = rest.from(20)
            }
        }
        try scratch.write(bytes, to: scratch.spool.progress(ScratchSpool.segment))
        let progress = try Progress(of: ScratchSpool.segment, in: scratch.spool)
        try hold(progress.ignoredBytes == bytes.count - 28 * entries.count, "\(progress.ignoredBytes) bytes ignored")
        try check(progress.resolved, entries)
        // What is appended behind all that is found again.
        let last = ProgressEntry(frame: 1 << 40, first: 3, count: 2, outcome: .delivered)
        try progress.append([last])
        try progress.sync()
        let again = try Progress.resolved(of: ScratchSpool.segment, in: scratch.spool)
        let isNamed = entries.contains { $0.frame == last.frame && $0.first <= 3 && $0.first + $0.count > 3 }
        try hold(
            isNamed || again.outcome(frame: last.frame, index: 3) == .delivered,
            "an entry that was appended is lost"
        )
    }

    private static func entry(_ body: UnsafeRawBufferPointer) -> Entry? {
        let frame = body.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        let first = Int(body.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        let count = Int(body.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        let code = body.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
        guard let frame = Int(exactly: frame), count > 0, first + count <= Int(UInt32.max),
            let outcome = UInt8(exactly: code).flatMap({ Outcome(rawValue: $0) })
        else { return nil }
        return Entry(frame: frame, first: first, count: count, outcome: outcome)
    }

    private func check(_ resolved: ResolvedRecords, _ entries: [Entry]) throws {
        for (left, right) in zip(resolved.runs, resolved.runs.dropFirst()) {
            let isSorted = (left.frame, left.first + left.count - 1) < (right.frame, right.first)
            try hold(isSorted, "runs overlap or are out of order")
        }
        for outcome in Outcome.allCases {
            let records = resolved.runs.reduce(0) { $0 + ($1.outcome == outcome ? $1.count : 0) }
            try hold(resolved.counts[outcome] == records, "the count of \(outcome)")
        }
        // At the edges of every entry, where anything that can be wrong is wrong.
        for entry in entries {
            for index in [entry.first - 1, entry.first, entry.first + entry.count - 1, entry.first + entry.count] {
                let first = entries.first {
                    $0.frame == entry.frame && $0.first <= index && index < $0.first + $0.count
                }
                let found = resolved.outcome(frame: entry.frame, index: index)
                try hold(found == first?.outcome, "record \(index) is \(String(describing: found))")
            }
            let runs = resolved.runs(inFrame: entry.frame)
            try hold(runs.count == resolved.runs.count { $0.frame == entry.frame }, "the runs of a frame")
        }
    }
}

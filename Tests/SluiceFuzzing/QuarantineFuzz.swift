// SPDX-License-Identifier: Apache-2.0
internal import SluiceEvents
internal import SluiceJSON
internal import SluiceSpool
internal import SluiceSystem

/// A line of a quarantine file is an entry or is none; an entry can be written and read again, with its record untouched.
final class QuarantineFuzz {
    private let parser = JSONParser(maximumBytes: 1 << 16, maximumDepth: 256)
    private let second = JSONParser(maximumBytes: 1 << 20, maximumDepth: 256)

    func check(_ input: UnsafeRawBufferPointer) throws {
        for line in Lines(input) {
            let text = ByteBuffer(copying: line)
            guard let document = try? parser.parse(text.bytes),
                let item = QuarantineItem(file: ScratchSpool.segment, line: text.bytes, document: document)
            else { continue }  // no entry
            try check(item)
        }
    }

    private func check(_ item: QuarantineItem) throws {
        try hold(
            (0...QuarantineEntry.Damage.mostRecords).contains(item.records),
            "an entry for \(item.records) records"
        )
        let entry = item.entry
        try hold(entry.records == item.records || item.record != nil, "the entry's records")
        if let damage = entry.damage {
            try hold(
                min(damage.offset, damage.length) >= 0 && damage.offset + damage.length >= damage.offset,
                "a range before its file"
            )
        }
        if let token = item.recordToken {
            _ = try? SpooledRecord(item.document, at: token)  // may be no record
            _ = item.event
        }
        var line = ByteBuffer()
        // A line that is no JSON object stands in its entry in base64.
        let isObject = item.record != nil || entry.damage != nil
        entry.append(to: &line, record: isObject ? item.record : item.line, isObject: isObject)
        try hold(
            line.bytes.count { $0 == 0x0A } == 1 + (item.record?.count { $0 == 0x0A } ?? 0),
            "an entry is one line"
        )
        let document = try second.parse(line.bytes)
        let again = try need(
            QuarantineItem(file: item.file, line: line.bytes, document: document),
            "an entry that was written is none"
        )
        var expected = entry
        expected.detail = again.entry.detail
        try hold(entry.detail.utf8.starts(with: again.entry.detail.utf8), "another detail")
        try hold(again.entry.detail.utf8.count <= QuarantineEntry.maximumDetailBytes, "a detail without bound")
        try hold(again.entry == expected, "\(again.entry) was \(expected)")
        let record = again.record.map { Array($0) }
        try hold(record == item.record.map { Array($0) }, "the record was touched")
    }
}

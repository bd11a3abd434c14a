// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// The text of the file `erased`: a header and a line for each fact, each with the XXH3-64 of what stands before it.
enum ErasureText {
    static let version = 1
    private static let head = "sluice-erased"

    static func appendHeader(seed: UInt64, to buffer: inout ByteBuffer) {
        append("\(head) \(version) seed=\(SegmentName.writerText(seed))", to: &buffer)
    }

    static func append(_ hash: ErasureBook.PersonHash, _ entry: ErasureBook.Entry, to buffer: inout ByteBuffer) {
        let digits = SegmentName.writerText(hash.high) + SegmentName.writerText(hash.low)
        append("\(entry.notedAt) erase \(entry.kind.rawValue) \(digits) until=\(entry.until)", to: &buffer)
    }

    static func appendSweep(at seconds: Int, to buffer: inout ByteBuffer) { append("\(seconds) swept", to: &buffer) }

    private static func append(_ line: String, to buffer: inout ByteBuffer) {
        let start = buffer.count
        buffer.append(line)
        let sum = Checksum.xxh3(UnsafeRawBufferPointer(rebasing: buffer.bytes[start...]))
        buffer.append(" \(SegmentName.writerText(sum))\n")
    }

    /// Reads a whole list.
    ///
    /// An unfinished last line is a command's that never said it was done. Any other line that does not verify names
    /// somebody whom nobody can tell any more: nothing may be sent until an operator has seen to it.
    ///
    /// - Returns: what it says, and the bytes of its whole lines.
    static func parse(_ bytes: [UInt8], path: String) throws(SpoolError) -> (book: ErasureBook, wholeBytes: Int) {
        var book: ErasureBook?
        var start = 0
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let fields = fields(bytes[start..<end])
            if book != nil {
                guard let fields else { throw damaged(path, at: start) }
                take(fields, into: &book)
            } else {
                book = try header(fields, path)
            }
            start = end + 1
        }
        guard let book else { throw damaged(path, at: 0) }
        return (book, start)
    }

    private static func damaged(_ path: String, at offset: Int) -> SpoolError {
        SpoolError(
            .damaged,
            path: path,
            byteOffset: offset,
            detail: "a line of the list of erased persons does not verify, and whom it names cannot be known; nothing "
                + "is sent until the file is moved away and the erasures of the last weeks are asked for once more",
            disposition: .stop
        )
    }

    /// The fields of a line; nil when it does not verify.
    private static func fields(_ line: ArraySlice<UInt8>) -> [Substring]? {
        let digits = 16
        guard line.count > digits + 1, line[line.endIndex - digits - 1] == UInt8(ascii: " ") else { return nil }
        let content = line.dropLast(digits + 1)
        let sum = SegmentName.writerText(content.withUnsafeBytes { Checksum.xxh3($0) })
        guard line.suffix(digits).elementsEqual(sum.utf8) else { return nil }
        return String(decoding: content, as: UTF8.self).split(separator: " ")
    }

    private static func header(_ fields: [Substring]?, _ path: String) throws(SpoolError) -> ErasureBook {
        guard let fields, fields.count >= 2, fields[0] == head, let number = Int(fields[1]) else {
            throw damaged(path, at: 0)
        }
        guard number <= version else {
            throw SpoolError(
                .unsupportedVersion,
                path: path,
                detail: "the list has version \(number), this program reads up to \(version); nothing is sent",
                disposition: .stop
            )
        }
        guard let seed = value("seed", fields).flatMap({ UInt64($0, radix: 16) }) else { throw damaged(path, at: 0) }
        return ErasureBook(seed: seed)
    }

    /// A kind that is not known is a later version's, and skipped.
    private static func take(_ fields: [Substring], into book: inout ErasureBook?) {
        guard fields.count >= 2, let seconds = Int(fields[0]) else { return }
        switch fields[1] {
        case "swept": book?.noteSweep(at: seconds)
        case "erase":
            guard fields.count >= 5, let kind = Person.Kind(rawValue: String(fields[2])), fields[3].utf8.count == 32,
                let high = UInt64(fields[3].prefix(16), radix: 16), let low = UInt64(fields[3].suffix(16), radix: 16),
                let until = value("until", fields).flatMap({ Int($0) })
            else { return }
            book?.take(
                ErasureBook.PersonHash(high: high, low: low),
                ErasureBook.Entry(kind: kind, until: until, notedAt: seconds)
            )
        default: return
        }
    }

    private static func value(_ key: String, _ fields: [Substring]) -> Substring? {
        fields.first { $0.hasPrefix("\(key)=") }?.dropFirst(key.count + 1)
    }
}

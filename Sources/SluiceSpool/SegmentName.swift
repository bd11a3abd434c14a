// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// The name of a segment, `<13-digit Unix milliseconds>-<writer, 16 hex digits>-<sequence>`.
///
/// Text and value belong to each other one to one: other digits, capitals or leading zeros are no segment name.
package struct SegmentName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Ends the file name of a sealed segment.
    package static let sealedSuffix = ".ndjson.lz4"
    /// Ends the file name of a segment that is being written.
    package static let openSuffix = ".open"
    /// Begins the name of a file that is not in place yet; such files are no segments.
    package static let newPrefix = ".new-"
    /// One past the last time that thirteen digits can name.
    package static let millisecondsLimit = 10_000_000_000_000

    /// One past the last sequence: far beyond what a writer can come to, and still a number to add one to.
    package static let sequenceLimit: UInt64 = 1 << 63

    /// When the segment was begun; never goes back within a writer.
    package let millisecondsSince1970: Int
    /// 64 random bits for each start of a writing process.
    package let writer: UInt64
    /// 0 for a writer's first segment, then without gaps.
    package let sequence: UInt64

    package init(millisecondsSince1970: Int, writer: UInt64, sequence: UInt64) {
        precondition(
            (0..<Self.millisecondsLimit).contains(millisecondsSince1970),
            "a segment's time has thirteen digits"
        )
        precondition(sequence < Self.sequenceLimit, "no writer comes so far")
        self.millisecondsSince1970 = millisecondsSince1970
        self.writer = writer
        self.sequence = sequence
    }

    /// Takes the bare name apart; nil when it is not one.
    package init?(parsing text: some StringProtocol) {
        self.init(utf8: Array(text.utf8)[...])
    }

    /// Takes the file name of a sealed segment apart; nil when it is not one.
    package init?(sealedFileName text: some StringProtocol) {
        self.init(text, suffix: Self.sealedSuffix)
    }

    /// Takes the file name of a segment that is being written apart; nil when it is not one.
    package init?(openFileName text: some StringProtocol) {
        self.init(text, suffix: Self.openSuffix)
    }

    private init?(_ text: some StringProtocol, suffix: String) {
        let bytes = Array(text.utf8)
        guard bytes.count > suffix.utf8.count, bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else {
            return nil
        }
        self.init(utf8: bytes.dropLast(suffix.utf8.count))
    }

    private init?(utf8 bytes: ArraySlice<UInt8>) {
        let dash = UInt8(ascii: "-")
        let start = bytes.startIndex
        guard (32...51).contains(bytes.count), bytes[start + 13] == dash, bytes[start + 30] == dash,
            let milliseconds = Self.decimal(bytes[start..<start + 13]),
            let writer = Self.hexadecimal(bytes[start + 14..<start + 30]),
            let sequence = Self.decimal(bytes[(start + 31)...]),
            bytes[start + 31] != UInt8(ascii: "0") || bytes.count == 32, sequence < Self.sequenceLimit
        else { return nil }
        self.init(millisecondsSince1970: Int(milliseconds), writer: writer, sequence: sequence)
    }

    private static func decimal(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
            if tooLarge || carried { return nil }
            value = sum
        }
        return value
    }

    private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return value
    }

    /// The bare name.
    package var text: String {
        var buffer = ByteBuffer(capacity: 64)
        let digits = String(millisecondsSince1970)
        for _ in digits.utf8.count..<13 { buffer.append(UInt8(ascii: "0")) }
        buffer.append(digits)
        buffer.append(UInt8(ascii: "-"))
        buffer.append(Self.writerText(writer))
        buffer.append(UInt8(ascii: "-"))
        buffer.append(String(sequence))
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// A writer's 16 hexadecimal digits.
    package static func writerText(_ writer: UInt64) -> String {
        let digits = String(writer, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    package var description: String { text }

    /// The file name in `ready/`, `claimed/…/` and `quarantine/`.
    package var sealedFileName: String { text + Self.sealedSuffix }

    /// The file name in `incoming/`.
    package var openFileName: String { text + Self.openSuffix }

    /// By age, then by writer, then by sequence; the order of the names' bytes too, because a writer's times rise.
    package static func < (left: SegmentName, right: SegmentName) -> Bool {
        (left.millisecondsSince1970, left.writer, left.sequence)
            < (right.millisecondsSince1970, right.writer, right.sequence)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceSpool
internal import SluiceSystem

/// Assembles a segment of whole, lying, damaged and foreign parts, and knows which groups must come out of it.
///
/// The input is a row of commands, each a byte with its arguments behind it.
struct SegmentScript {
    struct Group: Equatable {
        /// From the count frame's first byte to the data frame's last.
        var range: Range<Int>
        var records: Int
        var content: [UInt8]
    }

    /// Bytes of a count frame.
    static let countBytes = 56

    private(set) var bytes: [UInt8] = []
    /// Groups that are whole.
    private(set) var groups: [Group] = []
    /// Whether the file begins with a header, so that no foreign frame counts.
    private(set) var isOwn = false
    /// Whether every count frame and every footer that verifies tells the truth.
    private(set) var isHonest = true
    /// The content of all frames so far, whatever became of them.
    private var written: [[UInt8]] = []
    private let encoder = SegmentEncoder()
    private var rest: UnsafeRawBufferPointer

    init(_ input: UnsafeRawBufferPointer) {
        rest = input
        while let command = take() { run(command) }
    }

    private mutating func run(_ command: UInt8) {
        if [3, 4, 8, 11].contains(command % 12) { isHonest = false }
        switch command % 12 {
        case 0: header()
        case 1, 2: group()
        case 3: lyingGroup()
        case 4: bytes += take(Int(take() ?? 0))
        case 5:
            let content = content()
            written.append(content)
            bytes += encoded(content).dropFirst(Self.countBytes)
        case 6: footer()
        case 7: bytes += [UInt8](repeating: 0, count: Int(take() ?? 0))
        case 8: bytes += Self.ownFrame(take(Int(take() ?? 0)))
        case 9: flip()
        case 10: cut()
        default: bytes += encoded(content()).prefix(Self.countBytes)
        }
    }

    // MARK: - Arguments

    private mutating func take() -> UInt8? {
        guard let byte = rest.first else { return nil }
        rest = rest.from(1)
        return byte
    }

    private mutating func take(_ count: Int) -> [UInt8] {
        let taken = Array(rest.prefix(count))
        rest = rest.from(count)
        return taken
    }

    private mutating func place() -> Int { Int(take() ?? 0) << 8 | Int(take() ?? 0) }

    /// One to four lines, of the input's bytes or records.
    private mutating func content() -> [UInt8] {
        var lines: [UInt8] = []
        for _ in 0...Int(take() ?? 0) % 4 {
            switch take() ?? 0 {
            case 255: lines += Self.record(take() ?? 0, person: "usr_fuzz_1")
            case 254: lines += Self.record(take() ?? 0, person: "usr_other")
            case let length: lines += take(Int(length)).map { $0 == 0x0A ? 0x20 : $0 }
            }
            lines.append(0x0A)
        }
        return lines
    }

    private static func record(_ number: UInt8, person: String) -> [UInt8] {
        Array(
            """
            {"received_at":1796000010,"collection":"c","timestamp":1796000000,"trusted":{"user_id":"\(person)"},\
            "envelope":{"event":"screen_view","event_id":"e-\(number)","occurred_at":1796000000,"properties":{}}}
            """.utf8
        )
    }

    // MARK: - Parts

    private mutating func header() {
        if bytes.isEmpty { isOwn = true }
        var frame = ByteBuffer()
        SegmentHeader(name: ScratchSpool.segment, host: "web-1", createdAt: 1_796_000_000).append(to: &frame)
        bytes += Array(frame.bytes)
    }

    private func encoded(_ content: [UInt8]) -> [UInt8] {
        content.withUnsafeBytes { content in
            Array(encoder.encode(content, records: content.lineCount, receivedAt: 1_796_000_000...1_796_000_001))
        }
    }

    private mutating func group() {
        let content = content()
        let start = bytes.count
        bytes += encoded(content)
        written.append(content)
        let records = content.count { $0 == 0x0A }
        groups.append(Group(range: start..<bytes.count, records: records, content: content))
    }

    /// A group whose count frame verifies and says something else in one of its fields.
    private mutating func lyingGroup() {
        var group = encoded(content())
        let field = 12 + Int(take() ?? 0) % 36
        group[field] = group[field] &+ max(1, take() ?? 1)
        bytes += Self.ownFrame(Array(group[8..<Self.countBytes - 8])) + group[Self.countBytes...]
    }

    private mutating func footer() {
        let lie = Int(take() ?? 0) % 4
        if lie == 1 { isHonest = false }
        var frame = ByteBuffer()
        SegmentFooter(
            records: written.reduce(0) { $0 + $1.count { $0 == 0x0A } } + (lie == 1 ? place() : 0),
            frames: written.count,
            contentBytes: written.reduce(0) { $0 + $1.count },
            fileBytes: bytes.count + (lie == 2 ? place() : 0),
            receivedAt: 1_796_000_000...1_796_000_001
        ).append(to: &frame)
        bytes += Array(frame.bytes)
    }

    private mutating func flip() {
        let (place, bit) = (place(), take() ?? 0)
        guard !bytes.isEmpty else { return }
        bytes[place % bytes.count] ^= 1 << (bit % 8)
        groups.removeAll { $0.range.contains(place % bytes.count) }
        if place % bytes.count < 200 { isOwn = false }
    }

    private mutating func cut() {
        bytes.removeSubrange((place() % (bytes.count + 1))...)
        groups.removeAll { $0.range.upperBound > bytes.count }
        if bytes.count < 200 { isOwn = false }
    }

    // MARK: - Sluice's own frames, as spool/README.md draws them

    private static let magic: [UInt8] = [0x5A, 0x2A, 0x4D, 0x18]

    static func ownFrame(_ body: [UInt8]) -> [UInt8] {
        let frame = magic + littleEndian(UInt32(body.count + 8)) + body
        return frame + littleEndian(frame.withUnsafeBytes { Checksum.xxh3($0) })
    }

    private static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    /// The length of the frame of Sluice's that stands at `offset`; nil when there is none, or it does not verify.
    static func ownFrameLength(in bytes: ArraySlice<UInt8>, isVerified: Bool = true) -> Int? {
        guard bytes.count >= 16, bytes.starts(with: magic) else { return nil }
        let size = bytes.dropFirst(4).prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        guard size >= 8, size + 8 <= min(bytes.count, 16 << 10) else { return nil }
        let frame = Array(bytes.prefix(size + 8))
        guard isVerified else { return frame.count }
        let sum = frame.dropLast(8).withUnsafeBytes { Checksum.xxh3($0) }
        return frame.suffix(8).elementsEqual(littleEndian(sum)) ? frame.count : nil
    }

    /// The bytes with the right checksum in everything that looks like a frame of Sluice's.
    static func signed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        var offset = 0
        while offset + 16 <= bytes.count {
            guard let length = ownFrameLength(in: bytes[offset...], isVerified: false) else {
                offset += 1
                continue
            }
            let sum = bytes[offset..<offset + length - 8].withUnsafeBytes { Checksum.xxh3($0) }
            bytes.replaceSubrange(offset + length - 8..<offset + length, with: littleEndian(sum))
            offset += length
        }
        return bytes
    }
}

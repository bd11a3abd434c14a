// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SluiceSpool
internal import SluiceSystem

/// Reads a claimed segment record by record; one frame is in memory at a time.
final class SegmentCursor {
    enum Step {
        /// A line of the current frame; valid until the next step.
        case record(UnsafeRawBufferPointer, frameOffset: Int, index: Int)
        case damaged(offset: Int, length: Int, records: Int?)
        case tornTail(offset: Int, length: Int)
        case end(SegmentFooter?)
    }

    let segment: ClaimedSegment
    private let reader: SegmentReader
    private var frame = ByteBuffer(capacity: 64 << 10)
    private var position = 0
    private var index = 0
    private var frameOffset = 0

    init(_ segment: ClaimedSegment, path: String) throws(SpoolError) {
        self.segment = segment
        reader = try SegmentReader(opening: path)
    }

    /// Length of the segment file.
    var fileBytes: Int { reader.fileBytes }

    func next() throws(SpoolError) -> Step {
        while true {
            if let line = nextLine() {
                index += 1
                return .record(line, frameOffset: frameOffset, index: index - 1)
            }
            frame.removeAll()
            position = 0
            index = 0
            switch try reader.next(into: &frame) {
            case .frame(let offset, _, _): frameOffset = offset
            case .damaged(let offset, let length, let records):
                return .damaged(offset: offset, length: length, records: records)
            case .tornTail(let offset, let length, _): return .tornTail(offset: offset, length: length)
            case .end(let footer): return .end(footer)
            }
        }
    }

    /// The next line of the frame without its line feed; nil at the frame's end.
    private func nextLine() -> UnsafeRawBufferPointer? {
        let bytes = frame.bytes
        guard position < bytes.count, let start = bytes.baseAddress else { return nil }
        let rest = bytes.count - position
        let length = memchr(start + position, 0x0A, rest).map {
            $0 - UnsafeMutableRawPointer(mutating: start + position)
        }
        let line = UnsafeRawBufferPointer(start: start + position, count: length ?? rest)
        position += (length ?? rest) + 1
        return line
    }
}

/// The frame that a single record was read from again, kept for the next one from the same place.
struct FrameCache {
    let segment: SegmentName
    let frameOffset: Int
    private let content: [UInt8]
    /// Where the line of that index begins.
    private var place = (index: 0, start: 0)

    /// Reads the frame at `frameOffset`; one that is not there has no lines.
    init(_ segment: SegmentName, path: String, frameOffset: Int) throws(SpoolError) {
        self.segment = segment
        self.frameOffset = frameOffset
        let reader = try SegmentReader(opening: path)
        var frame = ByteBuffer(capacity: 64 << 10)
        while true {
            switch try reader.next(into: &frame) {
            case .frame(let offset, _, _) where offset == frameOffset:
                content = Array(frame.bytes)
                return
            case .end:
                content = []
                return
            default: continue
            }
        }
    }

    /// The line of that index without its line feed; nil behind the last.
    ///
    /// Quick when they are asked for in order.
    mutating func line(_ index: Int) -> [UInt8]? {
        if index < place.index { place = (0, 0) }
        while place.start < content.count {
            let end = content[place.start...].firstIndex(of: UInt8(ascii: "\n")) ?? content.count
            if place.index == index { return Array(content[place.start..<end]) }
            place = (place.index + 1, end + 1)
        }
        return nil
    }
}

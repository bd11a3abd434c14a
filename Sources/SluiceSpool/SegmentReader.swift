// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SluiceSystem

/// Reads a segment frame by frame, and goes on behind damage.
///
/// Every byte of the file is in exactly one of: a header, a delivered group (count frame and data frame), a damaged
/// range, a torn tail, a footer. What is neither delivered nor Sluice's own and whole is reported, with its range.
///
/// * Sluice's own frames are believed by their checksum, which covers magic and size, never by their size alone. Other
///   skippable frames have nothing to show for themselves and count as damage.
/// * A data frame is believed when its bytes have the checksum that its count frame tells, LZ4 decodes all of it, and
///   both agree on its sizes. One whose count frame is damaged is delivered all the same, by its own content checksum.
/// * Behind damage the reader looks for the next count, header or footer frame that verifies, or the next data frame
///   with a content checksum that decodes whole.
/// * A frame that runs into the end of the file without an error before it, in a segment without footer, is a torn
///   tail. Zeros where a frame was are damage.
/// * A foreign file, one without any frame of Sluice's, is read too: the content of its LZ4 frames is delivered. A
///   frame whose lines cannot be records, for they are far too long or too many, is damage.
///
/// Memory is bounded: a window of 256 KiB, LZ4's own blocks, and the caller's buffer, which takes one frame.
/// Not safe for two threads at once.
package final class SegmentReader {
    package enum Item: Hashable, Sendable {
        /// The buffer holds the frame's records, one a line. `offset` is that of the LZ4 frame, by which progress
        /// names it; `declaredRecords` is nil when its count frame is missing or damaged.
        case frame(offset: Int, length: Int, declaredRecords: Int?)
        /// Bytes that cannot be read; with the number of records in them when a count frame tells it.
        case damaged(offset: Int, length: Int, declaredRecords: Int?)
        /// An unfinished frame at the end: what was being written when the writer ended. Its records were
        /// never acknowledged, as the answer waits for the whole frame.
        case tornTail(offset: Int, length: Int, declaredRecords: Int?)
        /// The whole file is read.
        case end(footer: SegmentFooter?)
    }

    /// A frame that declares or gives more is refused before memory is taken for it.
    package static let maximumContentBytes = 64 << 20
    /// Bytes of the count frame that stands before each data frame.
    package static let countFrameBytes = CommitFrame.length

    /// Lines in a frame from which on their length is looked at; no frame of a writer's has more.
    private static let manyLines = 1 << 16
    /// No record takes fewer bytes.
    private static let shortestRecord = 64

    package let path: String
    /// What the first frame says, if it is whole.
    package private(set) var header: SegmentHeader?
    private var window: SegmentWindow
    private var decompressor = LZ4Decompressor()
    private var checksum = RunningChecksum()
    /// Whether the content checksum is looked at beside the count frame's, as other programs do.
    private let checksContent: Bool
    /// Where the next element begins.
    private var position = 0
    private var footer: SegmentFooter?
    /// Whether a frame of Sluice's was seen: then its data frames all have one form.
    private var isOwn = false
    /// The first element at or behind `searchedFrom`, as far as a search has told.
    private var found = 0
    private var searchedFrom = Int.max
    /// What may still be decoded in vain; ends the work on a file that was made to keep readers busy.
    private var effort: Int

    /// Opens the segment at `path` without following a link, and reads its header.
    ///
    /// - Throws: `notASpool` when it is no regular file; `unsupportedVersion` when a later program wrote it.
    package convenience init(opening path: String, checksContent: Bool = false) throws(SpoolError) {
        let file = try spoolCall { () throws(SystemError) in try File(opening: path, O_RDONLY) }
        try self.init(file, checksContent: checksContent)
    }

    /// Reads from an open file, by offset; the file's own position does not matter.
    ///
    /// * `checksContent`: whether each frame's own content checksum is looked at too. The count frame's checksum over the
    ///   compressed bytes tells the same for a tenth of the work.
    package init(_ file: consuming File, checksContent: Bool = false) throws(SpoolError) {
        path = file.path
        self.checksContent = checksContent
        let status: FileStatus
        do throws(SystemError) {
            status = try file.status()
        } catch {
            throw SpoolError(error)
        }
        guard status.isRegularFile else {
            throw SpoolError(.notASpool, path: file.path, detail: "not a regular file", disposition: .leaveAlone)
        }
        window = SegmentWindow(file, size: status.size)
        effort = (64 << 20) + 64 * status.size
        try readHeader()
    }

    /// The file's length in bytes.
    package var fileBytes: Int { window.size }

    private func readHeader() throws(SpoolError) {
        let bytes = try window.bytes(at: 0, upTo: SluiceFrame.maximumBytes)
        guard case .verified(.header, let length) = SluiceFrame.find(in: bytes) else { return }
        let frame = UnsafeRawBufferPointer(rebasing: bytes[..<length])
        let version = SegmentHeader.version(verified: frame)
        guard (1...SegmentHeader.currentVersion).contains(version) else {
            throw SpoolError(
                .unsupportedVersion,
                path: path,
                byteOffset: 0,
                detail: "written in version \(version) of the segment format; this program reads up to version "
                    + "\(SegmentHeader.currentVersion)"
            )
        }
        header = SegmentHeader(verified: frame)
        isOwn = true
        position = length
    }

    /// Gives the next piece of the segment; after `.end` always `.end`.
    ///
    /// `buffer` holds the records after `.frame` and is empty otherwise. When the file cannot be read, the error is
    /// `io`, and the next call tries the same place again.
    package func next(into buffer: inout ByteBuffer) throws(SpoolError) -> Item {
        while true {
            buffer.removeAll()
            guard position < window.size else { return .end(footer: footer) }
            switch try element(at: position, into: &buffer) {
            case .frame(let frame):
                position = frame.offset + frame.length
                guard mayHoldRecords(buffer.bytes, frame.records) else {
                    buffer.removeAll()
                    return .damaged(offset: frame.offset, length: frame.length, declaredRecords: frame.records)
                }
                return .frame(offset: frame.offset, length: frame.length, declaredRecords: frame.records)
            case .footer(let footer, let length):
                // Only a footer that knows its place speaks for this file.
                if footer?.fileBytes == position { self.footer = footer }
                position += length
            case .other(let length):
                position += length
            case .broken(let breakage):
                buffer.removeAll()
                return try damage(breakage)
            }
        }
    }

    /// Whether a frame's lines can be records: none is longer than one may be, and a great many are not all too short.
    ///
    /// A few bytes of LZ4 can give millions of empty lines, each of which would be judged, noted and kept.
    private func mayHoldRecords(_ content: UnsafeRawBufferPointer, _ records: Int?) -> Bool {
        guard content.count > Self.manyLines, let start = content.baseAddress else { return true }
        if let records, records <= Self.manyLines, content.count <= SegmentEncoder.maximumContentBytes { return true }
        var (offset, lines) = (0, 0)
        while offset < content.count {
            let rest = content.count - offset
            let length = memchr(start + offset, 0x0A, rest).map { UnsafeRawPointer($0) - (start + offset) } ?? rest
            if length > SegmentEncoder.maximumContentBytes { return false }
            offset += length + 1
            lines += 1
        }
        return lines <= Self.manyLines || content.count >= lines * Self.shortestRecord
    }

    // MARK: - Without decompressing

    /// The footer, if the file ends with one that verifies and knows its place.
    func trailingFooter() throws(SpoolError) -> SegmentFooter? {
        let start = max(0, window.size - SluiceFrame.maximumBytes)
        let tail = try window.bytes(at: start, upTo: SluiceFrame.maximumBytes)
        var offset = 0
        while let index = UnsafeRawBufferPointer(rebasing: tail[offset...]).firstMagic() {
            offset += index
            let rest = UnsafeRawBufferPointer(rebasing: tail[offset...])
            if case .verified(.footer, let length) = SluiceFrame.find(in: rest), length == rest.count {
                let footer = SegmentFooter(verified: rest)
                return footer?.fileBytes == start + offset ? footer : nil
            }
            offset += 1
        }
        return nil
    }

    /// The totals by the count frames; nil when anything is not as a writer leaves it.
    func walk() throws(SpoolError) -> SegmentTotals? {
        var totals = SegmentTotals()
        var offset = position
        while offset < window.size {
            let bytes = try window.bytes(at: offset, upTo: SluiceFrame.maximumBytes)
            guard case .verified(let kind, let length) = SluiceFrame.find(in: bytes) else { return nil }
            offset += length
            guard kind == .commit else { continue }
            guard let commit = CommitFrame(verified: UnsafeRawBufferPointer(rebasing: bytes[..<length])) else {
                return nil
            }
            let start = try window.bytes(at: offset, upTo: 4)
            guard start.isPrefix(ofLittleEndian: SluiceFrame.dataMagic), offset + commit.dataBytes <= window.size else {
                return nil
            }
            totals.add(records: commit.records, contentBytes: commit.contentBytes, receivedAt: commit.receivedAt)
            offset += commit.dataBytes
        }
        return totals
    }

    // MARK: - Elements

    private struct Frame {
        var offset: Int
        var length: Int
        var records: Int?
    }

    private struct Breakage {
        /// The end of the broken group, when a count frame tells it; may lie behind the end of the file.
        var end: Int?
        var records: Int?
        /// The bytes up to the end of the file are right as far as they go.
        var isCut: Bool
    }

    private enum Element {
        case frame(Frame)
        case footer(SegmentFooter?, length: Int)
        case other(length: Int)
        case broken(Breakage)
    }

    private func element(at offset: Int, into buffer: inout ByteBuffer) throws(SpoolError) -> Element {
        let bytes = try window.bytes(at: offset, upTo: SluiceFrame.maximumBytes)
        switch SluiceFrame.find(in: bytes) {
        case .verified(let kind, let length):
            isOwn = true
            let frame = UnsafeRawBufferPointer(rebasing: bytes[..<length])
            switch kind {
            case .header, .unknown: return .other(length: length)
            case .footer: return .footer(SegmentFooter(verified: frame), length: length)
            case .commit:
                guard let commit = CommitFrame(verified: frame) else { return .other(length: length) }
                return try group(commit, at: offset, into: &buffer)
            }
        case .incomplete:
            return .broken(Breakage(isCut: true))
        case .invalid:
            switch try decode(at: offset, end: window.size, needsChecksum: false, proof: nil, into: &buffer) {
            case .whole(let length): return .frame(Frame(offset: offset, length: length))
            case .cut: return .broken(Breakage(isCut: true))
            case .invalid: return .broken(Breakage(isCut: false))
            }
        }
    }

    /// Reads the data frame that belongs to a count frame.
    private func group(
        _ commit: CommitFrame,
        at offset: Int,
        into buffer: inout ByteBuffer
    ) throws(SpoolError) -> Element {
        let start = offset + CommitFrame.length
        let end = start + commit.dataBytes
        var isCut = end > window.size
        let proof = commit.dataChecksum
        switch try decode(at: start, end: min(end, window.size), needsChecksum: true, proof: proof, into: &buffer) {
        case .whole(let length):
            if start + length == end && buffer.count == commit.contentBytes {
                return .frame(Frame(offset: start, length: length, records: commit.records))
            }
            isCut = false
        case .cut: break
        case .invalid: isCut = isCut && start == window.size
        }
        return .broken(Breakage(end: end, records: commit.records, isCut: isCut))
    }

    private enum Decoded {
        case whole(length: Int)
        /// Right up to the end that was given, but not ended there.
        case cut
        case invalid
    }

    /// Decodes the LZ4 frame at `offset`, which must not reach past `end`, into the empty buffer.
    ///
    /// * `proof`: the checksum of the frame's bytes, when a count frame tells it.
    private func decode(
        at offset: Int,
        end: Int,
        needsChecksum: Bool,
        proof: UInt64?,
        into buffer: inout ByteBuffer
    ) throws(SpoolError) -> Decoded {
        let outline = LZ4FrameOutline(try window.bytes(at: offset, upTo: min(19, end - offset)))
        switch outline {
        case .cut: return .cut
        case .invalid: return .invalid
        case .known(let contentBytes, let isOwnForm, let hasChecksum):
            if isOwn ? !isOwnForm : needsChecksum && !hasChecksum { return .invalid }
            if let contentBytes {
                if contentBytes > Self.maximumContentBytes { return .invalid }
                // LZ4 gives at most 255 bytes for one: bytes that are not there need no room.
                buffer.reserve(min(contentBytes, 255 * (end - offset)) + LZ4Decompressor.blockRoom)
            }
            let limit = contentBytes ?? Self.maximumContentBytes
            return try feed(from: offset, to: end, limit: limit, proof: proof, into: &buffer)
        }
    }

    private func feed(
        from offset: Int,
        to end: Int,
        limit: Int,
        proof: UInt64?,
        into buffer: inout ByteBuffer
    ) throws(SpoolError) -> Decoded {
        decompressor.begin(checksContent: checksContent || proof == nil)
        checksum.reset()
        var next = offset
        while next < min(end, window.size) {
            let some = try window.someBytes(at: next)
            let input = UnsafeRawBufferPointer(rebasing: some.prefix(end - next))
            switch decompressor.feed(input, into: &buffer, limit: limit) {
            case .more:
                if proof != nil { checksum.add(input) }
                next += input.count
            case .end(let consumed):
                if let proof {
                    checksum.add(UnsafeRawBufferPointer(rebasing: input.prefix(consumed)))
                    guard checksum.value == proof else {
                        effort -= next + input.count - offset + buffer.count
                        return .invalid
                    }
                }
                return .whole(length: next + consumed - offset)
            case .invalid:
                effort -= next + input.count - offset + buffer.count
                return .invalid
            }
        }
        effort -= next - offset + buffer.count
        return .cut
    }

    // MARK: - Damage

    private func damage(_ breakage: Breakage) throws(SpoolError) -> Item {
        let start = position
        let next = try search(from: start + 1)
        if breakage.isCut && next == window.size && footer == nil {
            position = window.size
            return .tornTail(offset: start, length: window.size - start, declaredRecords: breakage.records)
        }
        // What lies behind the end of the broken group is a second piece, unless something whole begins before it.
        if let end = breakage.end, end <= next {
            position = end
            return .damaged(offset: start, length: end - start, declaredRecords: breakage.records)
        }
        position = next
        let runsToTheEnd = next == window.size
        return .damaged(
            offset: start,
            length: next - start,
            declaredRecords: runsToTheEnd ? breakage.records : nil
        )
    }

    /// The offset of the first element at or behind `start`, or the end of the file.
    private func search(from start: Int) throws(SpoolError) -> Int {
        if searchedFrom <= start && start <= found { return found }
        var scratch = ByteBuffer()
        var offset = start
        while let candidate = try nextMagic(from: offset), effort > 0 {
            if try isElement(at: candidate, scratch: &scratch) {
                remember(start, candidate)
                return candidate
            }
            offset = candidate + 1
        }
        remember(start, window.size)
        return window.size
    }

    private func remember(_ start: Int, _ candidate: Int) {
        searchedFrom = start
        found = candidate
    }

    /// The offset of the next four bytes that are a known magic number.
    private func nextMagic(from start: Int) throws(SpoolError) -> Int? {
        var offset = start
        while offset + 4 <= window.size {
            let some = try window.bytes(at: offset, upTo: 64 << 10)
            if let index = some.firstMagic() { return offset + index }
            if some.count < 4 { break }
            offset += some.count - 3
        }
        return nil
    }

    private func isElement(at offset: Int, scratch: inout ByteBuffer) throws(SpoolError) -> Bool {
        let bytes = try window.bytes(at: offset, upTo: SluiceFrame.maximumBytes)
        if bytes.count >= 4, bytes.u32(at: 0) == SluiceFrame.magic {
            if case .verified = SluiceFrame.find(in: bytes) { return true }
            // What its checksum covers was read in vain.
            let size = bytes.count < SluiceFrame.prefixBytes ? 0 : Int(bytes.u32(at: 4))
            effort -= size <= SluiceFrame.maximumBytes ? SluiceFrame.prefixBytes + size : SluiceFrame.prefixBytes
            return false
        }
        scratch.removeAll()
        if case .whole = try decode(at: offset, end: window.size, needsChecksum: true, proof: nil, into: &scratch) {
            return true
        }
        return false
    }
}

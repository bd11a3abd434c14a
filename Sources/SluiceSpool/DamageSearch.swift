// SPDX-License-Identifier: Apache-2.0
internal import SluiceJSON
internal import SluiceSystem

/// Looks for persons in bytes of a segment that could not be read.
///
/// What looks like an LZ4 frame is taken apart block by block, since the blocks are independent and most of them are
/// whole; their lines are judged as records where they can be parsed, else searched as text. All other bytes are searched
/// as they are. Blocks are what is removed: nobody can cut a line out of one.
package struct DamageSearch {
    package struct Result {
        /// Where in the file each record or text was found that is about one of the persons.
        package var hits: [Int] = []
        /// Bytes that hold these.
        package var removed = RangeSet<Int>()
        /// Bytes that cannot be decompressed, or whose lines cannot be parsed, and that show nobody.
        package var unsearched = RangeSet<Int>()
    }

    /// Shorter ids stand in any bytes by chance.
    static let leastBareBytes = 6
    private static let maximumContentBytes = 64 << 20

    private let book: ErasureBook
    private let parser = JSONParser(maximumBytes: maximumContentBytes, maximumDepth: 256)
    /// What stands in a text about one of the persons, and what stands so in compressed bytes too.
    private let members: [[UInt8]]
    private let bare: [[UInt8]]

    /// * `book`: lists these persons.
    package init(_ persons: [Person], book: ErasureBook) {
        self.book = book
        let escaped = persons.map { person in
            var id = ByteBuffer()
            person.id.withUnsafeBytes { id.append(escapingForJSONString: $0) }
            return (kind: person.kind, id: Array(id.bytes))
        }
        members = escaped.map { kind, id in
            Array((kind == .user ? "user_id\":\"" : "anonymous_id\":\"").utf8) + id + [UInt8(ascii: "\"")]
        }
        bare = escaped.map(\.id).filter { $0.count >= Self.leastBareBytes }
    }

    /// Searches a file.
    ///
    /// * `covered`: the ranges that hold something; bytes between them belong to nobody, or were removed before.
    package func search(_ bytes: UnsafeRawBufferPointer, covered: RangeSet<Int>) -> Result {
        var walk = Walk(search: self, bytes: bytes, covered: covered)
        walk.run()
        // A block that begins in one of the ranges may reach over its end.
        walk.result.removed.formIntersection(covered)
        walk.result.unsearched.formIntersection(covered)
        walk.result.unsearched.subtract(walk.result.removed)
        return walk.result
    }

    /// How often the persons are found in bytes of any kind.
    func count(in bytes: UnsafeRawBufferPointer) -> Int {
        let texts = members.reduce(0) { $0 + bytes.occurrences(of: $1) }
        if texts > 0 { return texts }
        return bare.contains { bytes.contains(part: $0) } ? 1 : 0
    }

    // MARK: Frames

    /// How the blocks of a frame stand one behind the other.
    private struct Form {
        var maximumBlockBytes = 64 << 10
        var isIndependent = true
        var hasBlockChecksum = false
        var hasContentChecksum = true
    }

    private enum Start {
        /// A frame begins at `at`, its first block at `blocks`.
        case frame(at: Int, blocks: Int, Form)
        /// A frame of Sluice's own that is whole and holds no record.
        case own(Range<Int>)
    }

    /// One way through a file.
    private struct Walk {
        let search: DamageSearch
        let bytes: UnsafeRawBufferPointer
        let covered: RangeSet<Int>
        var result = Result()

        mutating func run() {
            var position = 0
            while let run = covered.ranges.first(where: { $0.upperBound > position }) {
                position = max(position, run.lowerBound)
                let end = min(run.upperBound, bytes.count)
                guard position < end else { return }
                switch start(from: position, to: end) {
                case nil:
                    searchRaw(position..<end)
                    position = end
                case .own(let range):
                    searchRaw(position..<range.lowerBound)
                    position = range.upperBound
                case .frame(let offset, let blocks, let form):
                    searchRaw(position..<offset)
                    position = searchBlocks(from: blocks, form)
                }
            }
        }

        /// The first frame in a range whose blocks can be found.
        private func start(from position: Int, to end: Int) -> Start? {
            var offset = position
            while let found = UnsafeRawBufferPointer(rebasing: bytes[offset..<end]).firstMagic() {
                let place = offset + found
                if let blocks = blocks(ofFrameAt: place) { return .frame(at: place, blocks: blocks.start, blocks.form) }
                let rest = UnsafeRawBufferPointer(rebasing: bytes[place..<min(place + 16 << 10, bytes.count)])
                if case .verified(let kind, let length) = SluiceFrame.find(in: rest) {
                    let next = place + length
                    if kind == .commit, blocks(ofFrameAt: next) == nil, next + 15 <= end {
                        // The count frame vouches for a frame of Sluice's form, whose own head is damaged.
                        return .frame(at: place, blocks: next + 15, Form())
                    }
                    return .own(place..<next)
                }
                offset = place + 1
            }
            return nil
        }

        private func blocks(ofFrameAt offset: Int) -> (start: Int, form: Form)? {
            guard offset < bytes.count else { return nil }
            let head = UnsafeRawBufferPointer(rebasing: bytes[offset..<min(offset + 19, bytes.count)])
            guard case .known = LZ4FrameOutline(head) else { return nil }
            let flags = head[4]
            let form = Form(
                maximumBlockBytes: 1 << (8 + 2 * Int(head[5] >> 4)),
                isIndependent: flags & 0x20 != 0,
                hasBlockChecksum: flags & 0x10 != 0,
                hasContentChecksum: flags & 0x04 != 0
            )
            return (offset + (flags & 0x08 != 0 ? 15 : 7), form)
        }

        /// - Returns: where the blocks end.
        private mutating func searchBlocks(from start: Int, _ form: Form) -> Int {
            var content = Content()
            var position = start
            while position + 4 <= bytes.count, covered.contains(position) {
                let word = bytes.u32(at: position)
                if word == 0 {
                    position += form.hasContentChecksum ? 8 : 4
                    break
                }
                let length = Int(word & 0x7FFF_FFFF)
                guard length > 0, length <= form.maximumBlockBytes else {
                    searchLines(of: &content)
                    return searchUnsized(from: position, form)
                }
                let block = position + 4..<min(position + 4 + length, bytes.count)
                if let next = covered.ranges.first(where: { $0.upperBound > block.lowerBound })?.lowerBound,
                    next > block.lowerBound, next < block.upperBound
                {
                    // The block was removed before, or its size is damaged: what it would pass over is looked at itself.
                    searchLines(of: &content)
                    return next
                }
                searchBlock(block, isCut: block.count < length, isStored: word >> 31 == 1, form, &content)
                position = position + 4 + length + (form.hasBlockChecksum ? 4 : 0)
            }
            searchLines(of: &content)
            return position
        }

        private mutating func searchBlock(
            _ block: Range<Int>,
            isCut: Bool,
            isStored: Bool,
            _ form: Form,
            _ content: inout Content
        ) {
            guard covered.contains(block.lowerBound), !block.isEmpty else { return searchLines(of: &content) }
            let source = UnsafeRawBufferPointer(rebasing: bytes[block])
            let before = content.text.count
            var isWhole = !isCut && form.isIndependent
            if isStored {
                content.text.append(source)
            } else if !LZ4Block.decode(source, maximumBytes: form.maximumBlockBytes, into: &content.text) {
                isWhole = false
            }
            content.pieces.append((content.text.count, block))
            if !isWhole {
                // The lines before it end here; what was decoded of it is searched apart.
                let part = UnsafeRawBufferPointer(rebasing: content.text.bytes[before...])
                note(search.count(in: part), in: [block], else: true)
                content.text.truncate(to: before)
                content.pieces.removeLast()
                searchLines(of: &content)
            } else if content.text.count > DamageSearch.maximumContentBytes {
                searchLines(of: &content)
            }
        }

        /// Searches a block whose size is damaged, and all behind it that so belongs to no known block.
        private mutating func searchUnsized(from position: Int, _ form: Form) -> Int {
            let run = covered.ranges.first { $0.contains(position) } ?? position..<position
            var end = min(run.upperBound, bytes.count)
            let begin = min(position + 4, end)
            switch start(from: begin, to: end) {
            case .own(let range): end = range.lowerBound
            case .frame(let offset, _, _): end = offset
            case nil: break
            }
            // Whatever follows the block ends the attempt, but not before the block's own text.
            let source = UnsafeRawBufferPointer(rebasing: bytes[begin..<min(end, begin + form.maximumBlockBytes)])
            var text = ByteBuffer()
            _ = LZ4Block.decode(source, maximumBytes: form.maximumBlockBytes, into: &text)
            let raw = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
            note(max(search.count(in: text.bytes), search.count(in: raw)), in: [position..<end], else: true)
            return max(end, position + 4)
        }

        // MARK: Content

        /// The text of neighbouring blocks, and where in it each of them ends.
        private struct Content: ~Copyable {
            var text = ByteBuffer(capacity: 64 << 10)
            var pieces: [(end: Int, block: Range<Int>)] = []
        }

        private mutating func searchLines(of content: inout Content) {
            var piece = 0
            var start = 0
            let text = content.text.bytes
            while start < text.count {
                let rest = UnsafeRawBufferPointer(rebasing: text[start...])
                let length = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.count
                while content.pieces[piece].end <= start { piece += 1 }
                var last = piece
                while content.pieces[last].end < start + length { last += 1 }
                let line = UnsafeRawBufferPointer(rebasing: rest[..<length])
                if !line.isEmpty { judge(line, in: content.pieces[piece...last].map(\.block)) }
                start += length + 1
            }
            content.text.removeAll()
            content.pieces.removeAll()
        }

        private mutating func judge(_ line: UnsafeRawBufferPointer, in blocks: [Range<Int>]) {
            if let document = try? search.parser.parse(line), document[0].kind == .object {
                note(search.book.covers(document, record: 0) ? 1 : 0, in: blocks, else: false)
            } else {
                note(min(1, search.count(in: line)), in: blocks, else: true)
            }
        }

        private mutating func searchRaw(_ range: Range<Int>) {
            let part = UnsafeRawBufferPointer(rebasing: bytes[range])
            guard part.contains(where: { $0 != 0 }) else { return }
            note(search.count(in: part), in: [range], else: true)
        }

        private mutating func note(_ hits: Int, in ranges: [Range<Int>], else isUnsearched: Bool) {
            guard let first = ranges.first else { return }
            for _ in 0..<hits { result.hits.append(first.lowerBound) }
            for range in ranges {
                if hits > 0 {
                    result.removed.insert(contentsOf: range)
                } else if isUnsearched {
                    result.unsearched.insert(contentsOf: range)
                }
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// How often `part` stands in these bytes.
    fileprivate func occurrences(of part: [UInt8]) -> Int {
        guard contains(part: part) else { return 0 }
        return indices.count { index in
            index + part.count <= count && self[index] == part.first
                && UnsafeRawBufferPointer(rebasing: self[index..<index + part.count]).elementsEqual(part)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import SluiceEvents
package import SluiceSystem

/// The documents of an input of events: one a line, or the whole input when its first line is no document by itself.
package struct EventInput: ~Copyable {
    package struct Document {
        /// Followed by `ByteBuffer.padding` readable bytes; empty for a line that is too long.
        package var bytes: UnsafeRawBufferPointer
        /// Of its first line, from 1.
        package var line: Int
        package var isTooLong: Bool

        /// Why nothing of it can be judged.
        package var refusal: BatchRefusal? {
            isTooLong ? BatchRefusal(.bodyTooLarge, "the line is too long") : nil
        }
    }

    private let maximumLineBytes: Int
    private var reader: LineReader

    package init(_ file: consuming File, maximumLineBytes: Int) {
        self.maximumLineBytes = maximumLineBytes
        reader = LineReader(file, maximumLineBytes: maximumLineBytes)
    }

    /// Bytes that came from the input so far.
    package var bytesRead: Int { reader.bytesRead }

    /// Calls `body` with every document; blank lines are passed over.
    package mutating func read(_ body: (Document, _ bytesRead: Int) throws -> Void) throws {
        while let line = try reader.next() {
            if line.isTooLong {
                try body(Document(bytes: line.bytes, line: line.number, isTooLong: true), reader.bytesRead)
                continue
            }
            if line.bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            if line.number == 1 {
                let judge = EventJudge(limits: EventLimits(maximumBodyBytes: maximumLineBytes))
                if judge.isDocument(line.bytes) {
                    try body(Document(bytes: line.bytes, line: 1, isTooLong: false), reader.bytesRead)
                    continue
                }
                var first = ByteBuffer(capacity: line.bytes.count)
                first.append(line.bytes)
                if let whole = try reader.whole(), judge.isDocument(whole) {
                    return try body(Document(bytes: whole, line: 1, isTooLong: false), reader.bytesRead)
                }
                try body(Document(bytes: first.bytes, line: 1, isTooLong: false), reader.bytesRead)
                continue
            }
            try body(Document(bytes: line.bytes, line: line.number, isTooLong: false), reader.bytesRead)
        }
    }
}

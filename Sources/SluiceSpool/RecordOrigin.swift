// SPDX-License-Identifier: Apache-2.0
package import SluiceJSON
package import SluiceSystem

/// Where a record first stood in the spool; kept through quarantine and replays, so that it is always the same record.
package struct RecordOrigin: Hashable, Sendable, CustomStringConvertible {
    package var segment: SegmentName
    /// Byte offset of its frame.
    package var frame: Int
    package var index: Int

    package init(segment: SegmentName, frame: Int, index: Int) {
        self.segment = segment
        self.frame = frame
        self.index = index
    }

    package var description: String { "\(segment.text):\(frame):\(index)" }

    /// 32 bits for the duplicate window.
    package var fingerprint: UInt32 {
        let fields = (
            UInt64(segment.millisecondsSince1970).littleEndian, segment.writer.littleEndian,
            segment.sequence.littleEndian, UInt64(frame).littleEndian, UInt64(index).littleEndian
        )
        return UInt32(truncatingIfNeeded: withUnsafeBytes(of: fields) { Checksum.xxh3($0, seed: 0x6F72_6967) })
    }

    /// Appends `{"segment":…,"frame":…,"index":…}`.
    package func append(to buffer: inout ByteBuffer) {
        buffer.append(#"{"segment":""#)
        buffer.append(segment.text)
        buffer.append(#"","frame":"#)
        buffer.append(decimal: frame)
        buffer.append(#","index":"#)
        buffer.append(decimal: index)
        buffer.append("}")
    }

    /// Reads the object at a token; nil when it is none.
    package init?(_ document: JSONDocument, at object: Int) {
        guard let segment = document.value(of: "segment", in: object), document[segment].kind == .string,
            let name = SegmentName(bytes: document.text(document[segment])),
            let frame = document.value(of: "frame", in: object).flatMap({ document.integer(document[$0]) }),
            let index = document.value(of: "index", in: object).flatMap({ document.integer(document[$0]) }),
            frame >= 0, index >= 0
        else { return nil }
        self.init(segment: name, frame: frame, index: index)
    }
}

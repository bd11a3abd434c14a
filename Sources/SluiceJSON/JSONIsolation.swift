// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// A document `{"events":[…],…}` taken apart, so that a value that cannot be parsed costs only its own element.
///
/// simdjson refuses a whole document for one 30-digit integer or half a surrogate pair. The elements' extents are
/// found by following brackets and strings; what is left of the document, with a plain `0` in the place of each element
/// and every byte at its old offset, is the outline, which is then parsed like any document. Elements are parsed alone.
/// Nothing is repaired: a fault outside the elements, or a missing or doubled comma, makes the outline or an element
/// fail with `JSONError.concernsOneValue` false, and then the whole document is to be refused.
package struct JSONIsolation: ~Copyable {
    /// The document without its elements, of the same length.
    package private(set) var outline: ByteBuffer
    /// Where the elements stand in the document; at most one more than were asked for.
    package private(set) var elements: [Range<Int>] = []

    private let bytes: UnsafeRawBufferPointer
    private let maximumElements: Int
    private var position = 0

    /// Finds the elements of the top-level member `name`, whose key must stand there without escapes.
    ///
    /// - Parameters:
    ///   - name: the member's key.
    ///   - bytes: a document that simdjson refused for one value, so its UTF-8 and its strings' ends are sound.
    ///   - maximumElements: where counting stops; one more is recorded to show that there are too many.
    package init(of name: StaticString, in bytes: UnsafeRawBufferPointer, maximumElements: Int) {
        outline = ByteBuffer(capacity: bytes.count)
        outline.append(bytes)
        self.bytes = bytes
        self.maximumElements = maximumElements
        scan(for: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    private mutating func scan(for name: UnsafeRawBufferPointer) {
        var depth = 0
        var lastString = 0..<0
        var isWanted = false
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                let start = position
                skipString()
                lastString = start..<max(start, position - 1)
            case UInt8(ascii: ":"):
                isWanted = depth == 1 && bytes[lastString].elementsEqual(name)
            case UInt8(ascii: "["):
                if isWanted { takeElements() } else { depth += 1 }
                isWanted = false
            case UInt8(ascii: "{"):
                depth += 1
                isWanted = false
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
            case UInt8(ascii: ","):
                isWanted = false
            default:
                break
            }
        }
    }

    /// Goes from behind the array's bracket to behind its end, and blanks what stands between the commas.
    private mutating func takeElements() {
        var depth = 0
        var start = position
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                skipString()
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if depth == 0 {
                    take(start..<position)
                    position += 1
                    return
                }
                depth -= 1
            case UInt8(ascii: ","):
                if depth == 0 {
                    take(start..<position)
                    start = position + 1
                }
            default:
                break
            }
            position += 1
        }
    }

    private mutating func take(_ range: Range<Int>) {
        var range = range
        while let last = range.last, isWhiteSpace(bytes[last]) { range = range.lowerBound..<last }
        while let first = range.first, isWhiteSpace(bytes[first]) { range = first + 1..<range.upperBound }
        guard !range.isEmpty else { return }  // the outline keeps the hole, and its parse refuses it
        if elements.count <= maximumElements { elements.append(range) }
        outline.fill(range, with: UInt8(ascii: " "))
        outline.fill(range.lowerBound..<range.lowerBound + 1, with: UInt8(ascii: "0"))
    }

    private mutating func skipString() {
        while position < bytes.count {
            let byte = bytes[position]
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { break }
        }
        position = min(position, bytes.count)
    }

    private func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}

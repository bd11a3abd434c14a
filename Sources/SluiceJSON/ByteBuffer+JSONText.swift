// SPDX-License-Identifier: Apache-2.0
internal import CSluiceJSON
package import SluiceSystem

extension ByteBuffer {
    /// Appends `bytes`, which must be UTF-8, as a JSON string with its quotes.
    package mutating func append(jsonString bytes: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        append(escapingForJSONString: bytes)
        append(UInt8(ascii: "\""))
    }

    /// Appends `text` as a JSON string with its quotes.
    package mutating func append(jsonString text: String) {
        var text = text
        text.withUTF8 { append(jsonString: UnsafeRawBufferPointer($0)) }
    }

    /// Appends `bytes`, which must be UTF-8, escaped for the inside of a JSON string: only what JSON demands.
    package mutating func append(escapingForJSONString bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
        // Long text goes in pieces, so that the worst case is not reserved for all of it at once.
        var offset = 0
        while offset < bytes.count {
            let length = min(bytes.count - offset, 4096)
            append(upTo: 6 * length + 64) { target in
                guard let target = target.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
                return sluice_json_escape(start + offset, length, target)
            }
            offset += length
        }
    }
}

package enum JSONText {
    /// Writes `bytes`, which must be UTF-8, escaped for the inside of a JSON string.
    ///
    /// - Parameters:
    ///   - bytes: the text.
    ///   - target: has room for the escaped text and 8 bytes more; six times the bytes at worst, and never more than
    ///     the source text that the parser unescaped them from.
    /// - Returns: the bytes written.
    package static func escape(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Int {
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
        return sluice_json_escape(start, bytes.count, target.assumingMemoryBound(to: UInt8.self))
    }
}

extension String {
    /// `text` as a JSON string with its quotes.
    package init(jsonString text: String) {
        var buffer = ByteBuffer()
        buffer.append(jsonString: text)
        self.init(decoding: buffer.bytes, as: UTF8.self)
    }
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

extension ByteBuffer {
    /// A copy in memory of its own, with the readable bytes behind it that parsers want and no others.
    init(copying bytes: UnsafeRawBufferPointer) {
        self.init(capacity: bytes.count)
        append(bytes)
    }

    init(copying bytes: [UInt8]) {
        self.init(capacity: bytes.count)
        append(bytes)
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes from `offset` on, none behind the end.
    func from(_ offset: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[Swift.min(offset, count)...])
    }

    var asText: String { String(decoding: self, as: UTF8.self) }

    func isEqual(_ other: UnsafeRawBufferPointer) -> Bool { elementsEqual(other) }
}

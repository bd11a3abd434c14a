// SPDX-License-Identifier: Apache-2.0

/// The lines of a frame's content without their line feeds; nothing is copied.
struct Lines: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    init(of content: UnsafeRawBufferPointer) {
        rest = content
    }

    mutating func next() -> UnsafeRawBufferPointer? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.count
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[Swift.min(end + 1, rest.count)...]) }
        return UnsafeRawBufferPointer(rebasing: rest[..<end])
    }
}

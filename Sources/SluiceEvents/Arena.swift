// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

/// Memory for tables that are built once and then only read; all of it is freed together.
///
/// Hot paths read such tables through plain pointers, so that no reference count is touched for each event.
package final class Arena {
    private var blocks: [UnsafeMutableRawPointer] = []

    package init() {}

    deinit {
        for block in blocks { block.deallocate() }
    }

    /// A copy of `bytes`, followed by `ByteBuffer.padding` readable zeros.
    package func text(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let size = bytes.count + ByteBuffer.padding
        let block = UnsafeMutableRawBufferPointer(start: .allocate(byteCount: size, alignment: 16), count: size)
        blocks.append(block.baseAddress.unsafelyUnwrapped)
        block.copyMemory(from: bytes)
        for index in bytes.count..<size { block[index] = 0 }
        return UnsafeRawBufferPointer(rebasing: block[..<bytes.count])
    }

    package func text(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { bytes.withUnsafeBytes { text($0) } }

    package func text(_ string: String) -> UnsafeRawBufferPointer { text(Array(string.utf8)) }

    /// A copy of `elements`, which must be trivial values.
    package func array<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafeBufferPointer<Element> {
        let block = UnsafeMutableBufferPointer<Element>.allocate(capacity: max(elements.count, 1))
        blocks.append(UnsafeMutableRawPointer(block.baseAddress.unsafelyUnwrapped))
        _ = block.initialize(from: elements)
        return UnsafeBufferPointer(rebasing: block[..<elements.count])
    }
}

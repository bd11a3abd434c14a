// SPDX-License-Identifier: Apache-2.0
internal import CSluiceLZ4
internal import Glibc
internal import SluiceSystem

/// Decodes single independent blocks of an LZ4 frame, for what is left of a damaged one.
enum LZ4Block {
    /// Appends the content of a block.
    ///
    /// - Returns: false when the block is not valid; then as much of it was appended as could be decoded, and perhaps
    ///   some bytes that never were in it.
    static func decode(
        _ block: UnsafeRawBufferPointer,
        maximumBytes: Int,
        into output: inout ByteBuffer
    ) -> Bool {
        var isWhole = false
        output.append(upTo: maximumBytes) { room in
            guard let target = room.baseAddress, let source = block.baseAddress else { return 0 }
            // No text holds this byte, so it tells how far a failed attempt came.
            memset(target, 0xFF, room.count)
            let count = LZ4_decompress_safe(
                source.assumingMemoryBound(to: CChar.self),
                target.assumingMemoryBound(to: CChar.self),
                Int32(clamping: block.count),
                Int32(clamping: room.count)
            )
            isWhole = count >= 0
            if isWhole { return Int(count) }
            return (UnsafeRawBufferPointer(room).lastIndex { $0 != 0xFF } ?? -1) + 1
        }
        return isWhole
    }
}

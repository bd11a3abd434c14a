// SPDX-License-Identifier: Apache-2.0
internal import CSluiceLZ4
internal import Glibc

/// What the first bytes of an LZ4 frame say about it, before anything is believed or any memory taken.
///
/// See https://github.com/lz4/lz4/blob/v1.9.4/doc/lz4_Frame_format.md; the header's checksum is the decoder's matter.
enum LZ4FrameOutline {
    /// `isOwnForm`: independent blocks, content size and content checksum, nothing else, as Sluice writes them.
    case known(contentBytes: Int?, isOwnForm: Bool, hasChecksum: Bool)
    /// The bytes end inside the header and are right so far.
    case cut
    case invalid

    /// Judges up to 19 bytes, fewer only at the end of what may be read.
    init(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.isPrefix(ofLittleEndian: SluiceFrame.dataMagic) else {
            self = .invalid
            return
        }
        guard bytes.count >= 6 else {
            self = bytes.count < 5 || bytes[4] & 0xC3 == 0x40 ? .cut : .invalid
            return
        }
        let flags = bytes[4]
        // Version 01, the reserved bit 0, no dictionary: nobody could hand us one.
        guard flags & 0xC3 == 0x40, bytes[5] & 0x8F == 0, bytes[5] >> 4 >= 4 else {
            self = .invalid
            return
        }
        let hasSize = flags & 0x08 != 0
        guard bytes.count >= (hasSize ? 15 : 7) else {
            self = .cut
            return
        }
        var contentBytes: Int?
        if hasSize {
            guard let size = Int(exactly: bytes.u64(at: 6)) else {
                self = .invalid
                return
            }
            contentBytes = size
        }
        self = .known(
            contentBytes: contentBytes,
            isOwnForm: flags == 0x6C && contentBytes != 0,
            hasChecksum: flags & 0x04 != 0
        )
    }
}

extension UnsafeRawBufferPointer {
    /// The index of the first magic number of Sluice's or of LZ4's data frames.
    func firstMagic() -> Int? {
        guard var from = baseAddress, count >= 4 else { return nil }
        let last = from + (count - 4)
        // Both end in 4D 18.
        while from <= last, let hit = memchr(from + 2, 0x4D, last - from + 1) {
            let start = UnsafeRawPointer(hit) - 2
            let value = start.loadUnaligned(as: UInt32.self).littleEndian
            if value == SluiceFrame.magic || value == SluiceFrame.dataMagic { return start - (baseAddress ?? start) }
            from = start + 1
        }
        return nil
    }
}

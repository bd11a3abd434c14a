// SPDX-License-Identifier: Apache-2.0
internal import CSluiceLZ4
internal import SluiceSystem

/// Writes LZ4 frames with independent blocks, content size and content checksum; one per thread, reuses its memory.
///
/// See https://github.com/lz4/lz4/blob/v1.9.4/lib/lz4frame.h.
struct LZ4Compressor: ~Copyable {
    private let context: OpaquePointer
    private var preferences = LZ4F_preferences_t()

    init() {
        var created: OpaquePointer?
        let code = LZ4F_createCompressionContext(&created, UInt32(LZ4F_VERSION))
        guard LZ4F_isError(code) == 0, let created else { fatalError("out of memory for an LZ4 context") }
        context = created
        preferences.frameInfo.blockSizeID = LZ4F_max64KB
        preferences.frameInfo.blockMode = LZ4F_blockIndependent
        preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled
        // With this set, whole blocks go straight from the source into the frame.
        preferences.autoFlush = 1
    }

    deinit { LZ4F_freeCompressionContext(context) }

    /// Appends one frame with `content`, which is not empty, to `output`.
    mutating func append(_ content: UnsafeRawBufferPointer, to output: inout ByteBuffer) {
        precondition(!content.isEmpty, "an empty frame has no place in a segment")
        preferences.frameInfo.contentSize = UInt64(content.count)
        let bound = LZ4F_compressFrameBound(content.count, &preferences)
        output.append(upTo: bound) { room in
            var options = LZ4F_compressOptions_t()
            options.stableSrc = 1
            var end = 0
            end += checked(LZ4F_compressBegin(context, room.baseAddress, room.count, &preferences))
            end += checked(
                LZ4F_compressUpdate(
                    context,
                    room.baseAddress.map { $0 + end },
                    room.count - end,
                    content.baseAddress,
                    content.count,
                    &options
                )
            )
            end += checked(LZ4F_compressEnd(context, room.baseAddress.map { $0 + end }, room.count - end, &options))
            return end
        }
    }

    /// Compression only fails for a caller's mistake: the room is what the library asked for.
    private func checked(_ result: Int) -> Int {
        precondition(LZ4F_isError(result) == 0, "LZ4 refused to compress")
        return result
    }
}

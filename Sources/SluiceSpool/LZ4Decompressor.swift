// SPDX-License-Identifier: Apache-2.0
internal import CSluiceLZ4
internal import SluiceSystem

/// Reads LZ4 frames piece by piece; one per thread, reuses its memory.
struct LZ4Decompressor: ~Copyable {
    enum Step {
        /// All input was taken and the frame goes on.
        case more
        /// The frame ended after this many bytes of the input, and its checksum holds if it was looked at.
        case end(consumed: Int)
        /// The frame is not valid, or larger than the limit.
        case invalid
    }

    /// Room that is kept free behind the content, so that whole blocks are decoded in place.
    static let blockRoom = 64 << 10

    private let context: OpaquePointer
    private var options = LZ4F_decompressOptions_t()

    init() {
        var created: OpaquePointer?
        let code = LZ4F_createDecompressionContext(&created, UInt32(LZ4F_VERSION))
        guard LZ4F_isError(code) == 0, let created else { fatalError("out of memory for an LZ4 context") }
        context = created
    }

    deinit { LZ4F_freeDecompressionContext(context) }

    /// Begins a frame, and forgets one that was left in the middle.
    ///
    /// * `checksContent`: whether the frame's own checksum is looked at; that costs as much as decompressing.
    mutating func begin(checksContent: Bool) {
        LZ4F_resetDecompressionContext(context)
        options.skipChecksums = checksContent ? 0 : 1
    }

    /// Feeds the next bytes of the frame and appends what they give to `output`, at most `limit` bytes in all.
    mutating func feed(_ input: UnsafeRawBufferPointer, into output: inout ByteBuffer, limit: Int) -> Step {
        var consumed = 0
        while true {
            var taken = input.count - consumed
            let room = min(limit + 1 - output.count, max(output.capacity - output.count, Self.blockRoom))
            if room <= 0 { return .invalid }
            var given = room
            var hint = 0
            output.append(upTo: room) { target in
                hint = LZ4F_decompress(
                    context,
                    target.baseAddress,
                    &given,
                    input.baseAddress.map { $0 + consumed },
                    &taken,
                    &options
                )
                return LZ4F_isError(hint) == 0 ? given : 0
            }
            if LZ4F_isError(hint) != 0 || output.count > limit { return .invalid }
            consumed += taken
            if hint == 0 { return .end(consumed: consumed) }
            // Output left room: the library has nothing more to give for this input.
            if consumed == input.count && given < room { return .more }
            // Neither side moved: a frame that cannot go on.
            if taken == 0 && given == 0 { return .invalid }
        }
    }
}

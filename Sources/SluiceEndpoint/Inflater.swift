// SPDX-License-Identifier: Apache-2.0
internal import CSluiceZlib
package import SluiceSystem

/// Why a gzip body was refused.
package enum InflateFault: Error, Hashable, Sendable {
    /// Not gzip, cut short, a wrong checksum, or bytes behind its end.
    case damaged
    /// More bytes come out than a body may have.
    case tooLarge
    /// More bytes come out than the ratio allows: a bomb.
    case ratio
    /// The memory for it is spent.
    case noRoom
}

/// Inflates gzip bodies, one after the other, with caps on what comes out. https://www.zlib.net/manual.html
package struct Inflater: ~Copyable {
    /// Bodies up to this size are never taken for bombs.
    package static let alwaysAllowedBytes = 64 << 10
    private static let stepBytes = 16 << 10

    private let stream: UnsafeMutablePointer<z_stream>

    package init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let code = sluice_inflate_init_gzip(stream)
        precondition(code == Z_OK, "no memory for an inflater")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Appends the content of `source`, one gzip member or several, to `target`: at most `maximumBytes`, and above
    /// `alwaysAllowedBytes` at most `maximumRatio` times as many as `source` has.
    ///
    /// `reserve` is asked for each further piece of memory; false refuses the body.
    package mutating func inflate(
        _ source: UnsafeRawBufferPointer,
        maximumBytes: Int,
        maximumRatio: Int,
        into target: inout ByteBuffer,
        reserve: (Int) -> Bool
    ) throws(InflateFault) {
        guard let start = source.baseAddress, source.count >= 18 else { throw .damaged }
        let ratioBytes = max(
            Self.alwaysAllowedBytes,
            source.count.multipliedReportingOverflow(by: maximumRatio).partialValue
        )
        let base = target.count
        inflateReset(stream)
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(source.count)
        while true {
            guard reserve(Self.stepBytes) else { throw .noRoom }
            var code = Z_OK
            target.append(upTo: Self.stepBytes) { room in
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(room.count)
                code = CSluiceZlib.inflate(stream, Z_NO_FLUSH)
                return room.count - Int(stream.pointee.avail_out)
            }
            if target.count - base > maximumBytes { throw .tooLarge }
            if target.count - base > ratioBytes { throw .ratio }
            switch code {
            case Z_STREAM_END:
                if stream.pointee.avail_in == 0 { return }
                // Members may follow each other, RFC 1952; anything else behind the end is damage.
                inflateReset(stream)
            case Z_OK where stream.pointee.avail_out == 0 || stream.pointee.avail_in > 0: continue
            default: throw .damaged
            }
        }
    }
}

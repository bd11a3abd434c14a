// SPDX-License-Identifier: Apache-2.0
internal import CSluiceZlib

/// Makes gzip bodies as a mobile HTTP stack would.
package enum Gzip {
    package static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        precondition(sluice_deflate_init_gzip(&stream) == Z_OK, "no memory to compress")
        defer { deflateEnd(&stream) }
        var source = bytes
        var target = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
        return source.withUnsafeMutableBufferPointer { source in
            target.withUnsafeMutableBufferPointer { room in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = room.baseAddress
                stream.avail_out = UInt32(room.count)
                precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END, "room for all of it")
            }
            return Array(target.prefix(Int(stream.total_out)))
        }
    }
}

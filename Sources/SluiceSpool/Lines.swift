// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// The lines of a text in memory, without their line feeds; empty ones are left out.
package struct Lines: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    package init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    package mutating func next() -> UnsafeRawBufferPointer? {
        while let start = rest.baseAddress, !rest.isEmpty {
            let length = memchr(start, 0x0A, rest.count).map { UnsafeRawPointer($0) - start } ?? rest.count
            let line = UnsafeRawBufferPointer(start: start, count: length)
            rest = UnsafeRawBufferPointer(rebasing: rest[Swift.min(rest.count, length + 1)...])
            if length > 0 { return line }
        }
        return nil
    }
}

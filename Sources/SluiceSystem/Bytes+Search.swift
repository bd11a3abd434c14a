// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem

extension UnsafeRawBufferPointer {
    /// Whether `part` stands somewhere in these bytes, `memmem(3)`; an empty part always does.
    package func contains(part: [UInt8]) -> Bool { part.isEmpty || firstOffset(of: part) != nil }

    /// Where `part` stands first in these bytes; nil when it does not.
    package func firstOffset(of part: [UInt8]) -> Int? { part.withUnsafeBytes { firstOffset(of: $0) } }

    /// Where `part`, which is not empty, stands first in these bytes; nil when it does not.
    package func firstOffset(of part: UnsafeRawBufferPointer) -> Int? {
        guard let baseAddress, let start = part.baseAddress,
            let found = sluice_find(baseAddress, count, start, part.count)
        else { return nil }
        return found - baseAddress
    }
}

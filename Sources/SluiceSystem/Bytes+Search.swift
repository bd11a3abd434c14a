// SPDX-License-Identifier: Apache-2.0
internal import CSluiceSystem

extension UnsafeRawBufferPointer {
    /// Whether `part` stands somewhere in these bytes, `memmem(3)`; an empty part always does.
    package func contains(part: [UInt8]) -> Bool {
        guard let baseAddress else { return part.isEmpty }
        return sluice_find(baseAddress, count, part, part.count) != nil
    }
}

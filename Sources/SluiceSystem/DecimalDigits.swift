// SPDX-License-Identifier: Apache-2.0

/// Writes a number in decimal digits.
///
/// - Parameters:
///   - value: the number.
///   - place: memory with room for 20 bytes.
/// - Returns: the bytes written.
package func writeDecimal(_ value: Int, to place: UnsafeMutableRawPointer) -> Int {
    let sign = value < 0 ? 1 : 0
    if sign == 1 { place.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self) }
    var rest = value.magnitude
    var end = sign + 1
    var limit: UInt = 10
    // Ten to the power of 19, more than any whole number has, still fits.
    while rest >= limit {
        end += 1
        limit *= 10
    }
    for offset in (sign..<end).reversed() {
        place.storeBytes(of: UInt8(ascii: "0") + UInt8(rest % 10), toByteOffset: offset, as: UInt8.self)
        rest /= 10
    }
    return end
}

// SPDX-License-Identifier: Apache-2.0
internal import SluiceSystem

extension SegmentName {
    /// Takes a name out of bytes without making texts of them; nil when it is not one.
    ///
    /// * `suffix`: what must follow the name.
    init?(bytes: UnsafeRawBufferPointer, suffix: StaticString = "") {
        let length = bytes.count - suffix.utf8CodeUnitCount
        let dash = UInt8(ascii: "-")
        guard (32...51).contains(length), bytes[13] == dash, bytes[30] == dash,
            length == 32 || bytes[31] != UInt8(ascii: "0")
        else { return nil }
        for index in 0..<suffix.utf8CodeUnitCount where bytes[length + index] != suffix.utf8Start[index] { return nil }
        var milliseconds = 0
        for index in 0..<13 {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            milliseconds = milliseconds * 10 + Int(digit)
        }
        var writer: UInt64 = 0
        for index in 14..<30 {
            guard let digit = Self.hexadecimalDigit(bytes[index]) else { return nil }
            writer = writer << 4 | digit
        }
        var sequence: UInt64 = 0
        for index in 31..<length {
            let digit = bytes[index] &- UInt8(ascii: "0")
            let (product, tooLarge) = sequence.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(UInt64(digit))
            guard digit < 10, !tooLarge, !carried else { return nil }
            sequence = sum
        }
        guard sequence < Self.sequenceLimit else { return nil }
        self.init(millisecondsSince1970: milliseconds, writer: writer, sequence: sequence)
    }

    @inline(__always)
    static func hexadecimalDigit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        default: nil
        }
    }

    /// The writer in the names of the quarantine files of this segment's claims: whoever takes the segment over finds
    /// them without opening any.
    var quarantineWriter: UInt64 {
        let fields = (UInt64(millisecondsSince1970).littleEndian, writer.littleEndian, sequence.littleEndian)
        return withUnsafeBytes(of: fields) { Checksum.xxh3($0, seed: 0x7175_6172) }
    }
}

// SPDX-License-Identifier: Apache-2.0
package import SluiceSystem

/// The first frame of a segment: who wrote it, when, and in which version of the format.
///
/// A skippable frame whose body is a line of JSON. Later versions keep this frame's outline and its first two members.
package struct SegmentHeader: Hashable, Sendable {
    /// The version that this program writes, and the highest that it reads.
    package static let currentVersion = 1
    static let tag: StaticString = #"{"sluice":"segment""#

    package var version: Int
    package var name: SegmentName
    /// The machine's name.
    package var host: String
    /// Unix seconds.
    package var createdAt: Int

    package init(name: SegmentName, host: String, createdAt: Int, version: Int = Self.currentVersion) {
        self.version = version
        self.name = name
        self.host = host
        self.createdAt = createdAt
    }

    /// The version of a header frame that verified; 0 when it names none.
    static func version(verified frame: UnsafeRawBufferPointer) -> Int { frame.number(after: #","version":"#) ?? 0 }

    /// Reads a header frame that verified; nil when a member is missing or out of place.
    init?(verified frame: UnsafeRawBufferPointer) {
        guard let version = frame.number(after: #","version":"#),
            let name = frame.text(after: #","segment":""#).flatMap({ SegmentName(parsing: $0) }),
            let host = frame.text(after: #","host":""#),
            let createdAt = frame.number(after: #","created_at":"#), SegmentTotals.times.contains(createdAt)
        else { return nil }
        self.init(name: name, host: host, createdAt: createdAt, version: version)
    }

    package func append(to output: inout ByteBuffer) {
        SluiceFrame.append(to: &output) { output in
            output.append(Self.tag)
            output.append(#","version":"#)
            output.append(decimal: version)
            output.append(#","segment":""#)
            output.append(name.text)
            output.append(#"","writer":""#)
            output.append(SegmentName.writerText(name.writer))
            output.append(#"","host":""#)
            // Names of hosts are letters, digits, dots and hyphens; whatever else is there would need escapes.
            for byte in host.utf8.prefix(255) where byte > 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C {
                output.append(byte)
            }
            output.append(#"","created_at":"#)
            output.append(decimal: createdAt)
            output.append("}\n")
        }
    }
}

extension UnsafeRawBufferPointer {
    /// What follows the first `key`, for the flat JSON that Sluice itself wrote and whose checksum holds.
    private func rest(after key: StaticString) -> UnsafeRawBufferPointer? {
        let length = key.utf8CodeUnitCount
        guard count > length else { return nil }
        for start in 0..<(count - length) {
            let rest = UnsafeRawBufferPointer(rebasing: self[start...])
            if rest.starts(with: key) { return UnsafeRawBufferPointer(rebasing: rest[length...]) }
        }
        return nil
    }

    /// The whole number behind the first `key`.
    func number(after key: StaticString) -> Int? {
        guard let rest = rest(after: key) else { return nil }
        var value: Int?
        for byte in rest {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
            let (product, tooLarge) = (value ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            if tooLarge || carried { return nil }
            value = sum
        }
        return value
    }

    /// The text without escapes between the first `key` and the next quotation mark.
    func text(after key: StaticString) -> String? {
        guard let rest = rest(after: key), let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        return String(decoding: rest[..<end], as: UTF8.self)
    }
}

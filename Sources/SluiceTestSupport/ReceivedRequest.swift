// SPDX-License-Identifier: Apache-2.0

/// A request as raw bytes, taken apart just enough for tests.
package struct ReceivedRequest: Sendable {
    package private(set) var bytes: [UInt8]
    private let bodyStart: Int?
    private let bodyCount: Int

    init(bytes: [UInt8]) {
        self.bytes = bytes
        bodyStart = Self.endOfHead(bytes)
        bodyCount =
            bodyStart.map { start in
                let head = String(decoding: bytes[..<start], as: UTF8.self).lowercased()
                let field = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                return field.flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
            } ?? 0
    }

    var isComplete: Bool { bodyStart.map { bytes.count >= $0 + bodyCount } ?? false }
    /// Bytes of head and body together; more may follow on the same connection.
    var length: Int { (bodyStart ?? 0) + bodyCount }

    mutating func trim() { bytes.removeLast(bytes.count - length) }

    package var head: String { String(decoding: bytes[..<(bodyStart ?? bytes.count)], as: UTF8.self) }
    package var body: [UInt8] { Array(bytes[(bodyStart ?? bytes.count)...]) }
    package var bodyText: String { String(decoding: body, as: UTF8.self) }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in 0...(bytes.count - 4) where bytes[index] == 0x0d {
            if bytes[index + 1] == 0x0a && bytes[index + 2] == 0x0d && bytes[index + 3] == 0x0a { return index + 4 }
        }
        return nil
    }
}

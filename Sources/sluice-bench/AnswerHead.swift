// SPDX-License-Identifier: Apache-2.0
import SluiceSystem

/// The head of an HTTP answer.
struct AnswerHead {
    var status: Int
    var contentLength = 0
    var retryAfterSeconds: Int?
    /// Bytes of the head, its blank line included.
    var length = 0

    private static let lengthName = Array("Content-Length: ".utf8)
    private static let retryName = Array("Retry-After: ".utf8)

    /// - Returns: nil when the bytes are no answer, or end before the head does.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 13, bytes.starts(with: "HTTP/1.1 ".utf8),
            let status = Int(String(decoding: bytes[9..<12], as: UTF8.self))
        else { return nil }
        self.status = status
        var line = 0
        for index in bytes.indices.dropLast() where bytes[index] == 0x0D && bytes[index + 1] == 0x0A {
            if index == line {
                length = index + 2
                return
            }
            let text = UnsafeRawBufferPointer(rebasing: bytes[line..<index])
            if text.starts(with: Self.lengthName) {
                contentLength = Self.number(text, behind: Self.lengthName) ?? 0
            } else if text.starts(with: Self.retryName) {
                retryAfterSeconds = Self.number(text, behind: Self.retryName)
            }
            line = index + 2
        }
        return nil
    }

    private static func number(_ text: UnsafeRawBufferPointer, behind name: [UInt8]) -> Int? {
        Int(String(decoding: text.dropFirst(name.count), as: UTF8.self))
    }
}

// SPDX-License-Identifier: Apache-2.0

/// What is kept of an answer's head, line by line as libcurl hands them over.
package struct HTTPAnswerHead: Sendable {
    /// The last status line's code: interim answers such as 100 are followed by another head.
    package private(set) var status = 0
    package private(set) var retryAfter: String?
    package private(set) var contentType: String?
    package private(set) var contentCoding: String?
    /// The empty line was seen; without it a connection that broke off in the head would pass for an answer.
    package private(set) var isComplete = false

    /// Longest value that is kept; the rest of a longer one is cut off.
    private static let maximumValueBytes = 256

    package init() {}

    package mutating func take(_ line: UnsafeRawBufferPointer) {
        let line = line.trimmingSpaces
        if line.isEmpty {
            isComplete = status >= 200
        } else if isComplete {
            return  // a trailer
        } else if line.starts(with: "HTTP/".utf8) {
            self = HTTPAnswerHead()
            status = Self.status(of: line)
        } else if let value = line.value(ofFieldNamed: "retry-after") {
            retryAfter = Self.text(value)
        } else if let value = line.value(ofFieldNamed: "content-type") {
            contentType = Self.text(value)
        } else if let value = line.value(ofFieldNamed: "content-encoding") {
            contentCoding = Self.text(value)
        }
    }

    private static func status(of line: UnsafeRawBufferPointer) -> Int {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else { return 0 }
        var status = 0
        for byte in line[(space + 1)...].prefix(3) {
            guard byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") else { return 0 }
            status = status * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return status
    }

    private static func text(_ value: UnsafeRawBufferPointer) -> String {
        String(decoding: value.prefix(maximumValueBytes), as: UTF8.self)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var trimmingSpaces: UnsafeRawBufferPointer {
        var start = startIndex
        var end = endIndex
        while start < end && self[start].isSpace { start += 1 }
        while end > start && self[end - 1].isSpace { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    /// The value when this line is the field of that name, given in small letters.
    fileprivate func value(ofFieldNamed name: StaticString) -> UnsafeRawBufferPointer? {
        let length = name.utf8CodeUnitCount
        guard count > length && self[length] == UInt8(ascii: ":") else { return nil }
        for index in 0..<length {
            let byte = self[index]
            let small = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
            if small != name.utf8Start[index] { return nil }
        }
        return UnsafeRawBufferPointer(rebasing: self[(length + 1)...]).trimmingSpaces
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0d || self == 0x0a }
}

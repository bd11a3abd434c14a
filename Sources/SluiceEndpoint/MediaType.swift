// SPDX-License-Identifier: Apache-2.0
internal import SluiceServer

/// What a request says its body is.
package enum MediaType {
    /// Whether a `Content-Type` is JSON in UTF-8: `application/json` in any case, with `charset=utf-8` or none.
    package static func isJSON(_ value: UnsafeRawBufferPointer) -> Bool {
        var parts = Split(value, by: UInt8(ascii: ";"))
        guard let type = parts.next(), type.equalsIgnoringCase("application/json") else { return false }
        while let parameter = parts.next() {
            if parameter.isEmpty { continue }
            guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { return false }
            let name = UnsafeRawBufferPointer(rebasing: parameter[..<equals]).trimmed
            guard name.equalsIgnoringCase("charset") else { continue }
            let text = UnsafeRawBufferPointer(rebasing: parameter[(equals + 1)...]).trimmed.unquoted
            guard text.equalsIgnoringCase("utf-8") || text.equalsIgnoringCase("utf8") else { return false }
        }
        return true
    }

    package enum Coding: Sendable {
        case identity
        case gzip
        /// Anything else, also two codings on top of each other.
        case unsupported
    }

    package static func coding(_ value: UnsafeRawBufferPointer?) -> Coding {
        guard let value = value?.trimmed, !value.isEmpty else { return .identity }
        if value.equalsIgnoringCase("identity") { return .identity }
        // RFC 9110, section 8.4.1.3: a recipient should consider "x-gzip" to be equivalent to "gzip".
        return value.equalsIgnoringCase("gzip") || value.equalsIgnoringCase("x-gzip") ? .gzip : .unsupported
    }

    /// The token of `Bearer <token>`; nil for another scheme.
    package static func bearerToken(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let value = value.trimmed
        guard value.count > 7, UnsafeRawBufferPointer(rebasing: value[..<7]).equalsIgnoringCase("bearer ") else {
            return nil
        }
        let token = UnsafeRawBufferPointer(rebasing: value[7...]).trimmed
        return token.isEmpty ? nil : token
    }

    private struct Split {
        private var rest: UnsafeRawBufferPointer?
        private let separator: UInt8

        init(_ value: UnsafeRawBufferPointer, by separator: UInt8) {
            rest = value
            self.separator = separator
        }

        mutating func next() -> UnsafeRawBufferPointer? {
            guard let rest else { return nil }
            guard let end = rest.firstIndex(of: separator) else {
                self.rest = nil
                return rest.trimmed
            }
            self.rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            return UnsafeRawBufferPointer(rebasing: rest[..<end]).trimmed
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Without blanks and tabs at both ends.
    var trimmed: UnsafeRawBufferPointer {
        var start = 0
        var end = count
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    fileprivate var unquoted: UnsafeRawBufferPointer {
        guard count >= 2, first == UInt8(ascii: "\""), last == UInt8(ascii: "\"") else { return self }
        return UnsafeRawBufferPointer(rebasing: self[1..<(count - 1)])
    }
}

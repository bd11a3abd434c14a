// SPDX-License-Identifier: Apache-2.0

/// Where requests go: the checked `graphjson.url` with the paths of the API.
package struct GraphJSONTarget: Hashable, Sendable {
    /// The URL without a slash at its end, scheme and host in small letters: names the destination in the spool.
    package let base: String
    /// Whether requests, and the API key in them, travel without TLS.
    package let isPlainText: Bool
    /// Whether the host is this machine by its name or address.
    package let isLoopback: Bool

    /// Checks a URL.
    ///
    /// - Parameter url: `http` or `https`, host, optional port, optional path in front of `/api/…`; the API's own paths
    ///   `/api/log` and `/api/bulk-log` at its end are taken off.
    /// - Throws: the first thing that is wrong with it.
    package init(url: String) throws(GraphJSONURLError) {
        let bytes = Array(url.utf8)
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !Self.forbidden.contains($0) }) else {
            throw GraphJSONURLError("has a character that must not be in a URL")
        }
        guard let marker = url.range(of: "://") else { throw GraphJSONURLError("must begin with https:// or http://") }
        let scheme = url[..<marker.lowerBound].lowercased()
        guard scheme == "https" || scheme == "http" else {
            throw GraphJSONURLError("must begin with https:// or http://")
        }
        let rest = url[marker.upperBound...]
        if rest.contains("?") { throw GraphJSONURLError("must not have a query") }
        if rest.contains("#") { throw GraphJSONURLError("must not have a fragment") }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<slash]
        if authority.contains("@") { throw GraphJSONURLError("must not have a user name or password") }
        let host = try Self.host(of: authority)
        base = "\(scheme)://\(authority.lowercased())\(Self.prefix(of: rest[slash...]))"
        isPlainText = scheme == "http"
        isLoopback = host == "localhost" || host == "[::1]" || host.hasPrefix("127.")
    }

    /// The URL that takes requests of that shape.
    package func url(for shape: BulkShape) -> String { base + (shape == .single ? "/api/log" : "/api/bulk-log") }

    /// Quotes, angle brackets, backslash, caret, backtick, braces and bar.
    private static let forbidden: Set<UInt8> = [0x22, 0x3c, 0x3e, 0x5c, 0x5e, 0x60, 0x7b, 0x7c, 0x7d]

    private static func host(of authority: Substring) throws(GraphJSONURLError) -> String {
        var host = authority.lowercased()
        let afterBracket = host.lastIndex(of: "]").map { host.index(after: $0) } ?? host.startIndex
        if let colon = host[afterBracket...].firstIndex(of: ":") {
            let port = host[host.index(after: colon)...]
            guard let number = UInt16(port), number > 0, port.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
                throw GraphJSONURLError("must have a port between 1 and 65535, or none")
            }
            host = String(host[..<colon])
        }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.utf8.count > 2
        let inner = isBracketed ? host.dropFirst().dropLast() : host[...]
        let isValid = inner.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."): true
            case UInt8(ascii: "g")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"): !isBracketed
            case UInt8(ascii: ":"): isBracketed
            default: false
            }
        }
        guard isValid, !inner.isEmpty else { throw GraphJSONURLError("must have a host name or address") }
        return host
    }

    private static func prefix(of path: Substring) -> Substring {
        var path = path
        func dropSlashes() { while path.hasSuffix("/") { path.removeLast() } }
        dropSlashes()
        for own in ["/api/bulk-log", "/api/log"] where path.hasSuffix(own) {
            path.removeLast(own.count)
            dropSlashes()
            break
        }
        return path
    }
}

/// Why `graphjson.url` cannot be used; the URL itself is not quoted, as it may hold a secret.
package struct GraphJSONURLError: Error, Hashable, Sendable, CustomStringConvertible {
    package var reason: String

    init(_ reason: String) { self.reason = reason }

    package var description: String { "the URL \(reason)" }
}

extension String {
    fileprivate func range(of text: StaticString) -> Range<String.Index>? {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        var start = utf8.startIndex
        while start < utf8.endIndex {
            if utf8[start...].starts(with: wanted) { return start..<utf8.index(start, offsetBy: wanted.count) }
            start = utf8.index(after: start)
        }
        return nil
    }
}

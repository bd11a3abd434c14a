// SPDX-License-Identifier: Apache-2.0
package import SluiceServer

/// Finds whom a request is really from behind trusted proxies.
package enum ClientAddress {
    /// Walks `X-Forwarded-For` from the right, where each proxy adds the address that it saw, over the trusted ones.
    ///
    /// - Returns: the first address that is no trusted proxy's; nil when a proxy tells none that can be read.
    package static func behindProxies(
        _ forwardedFor: UnsafeRawBufferPointer?,
        trusted: NetworkList
    ) -> PeerAddress? {
        guard let forwardedFor, forwardedFor.count <= 4096 else { return nil }
        let text = String(decoding: forwardedFor, as: UTF8.self)
        for part in text.split(separator: ",", omittingEmptySubsequences: false).reversed() {
            guard let address = address(part) else { return nil }
            if !trusted.contains(address) { return address }
        }
        return nil
    }

    /// An address with or without a port, IPv6 with or without brackets.
    private static func address(_ text: Substring) -> PeerAddress? {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            return PeerAddress(parsing: String(text[text.index(after: text.startIndex)..<end]))
        }
        if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon { text = text[..<colon] }
        return PeerAddress(parsing: String(text))
    }
}

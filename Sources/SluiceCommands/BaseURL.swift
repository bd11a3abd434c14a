// SPDX-License-Identifier: Apache-2.0

/// The URL that an API's paths are appended to.
enum BaseURL {
    /// Whether `text` is an http or https URL of printable ASCII with a host and without user, query or fragment.
    static func isAllowed(_ text: String) -> Bool {
        let rest: Substring
        if text.hasPrefix("https://") {
            rest = text.dropFirst(8)
        } else if text.hasPrefix("http://") {
            rest = text.dropFirst(7)
        } else {
            return false
        }
        let forbidden: Set<UInt8> = Set("@?#\\\"<>{}|^`".utf8)
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !forbidden.contains($0) }) else { return false }
        let authority = rest.prefix { $0 != "/" }
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return false }
            let host = authority[authority.index(after: authority.startIndex)..<end]
            return NumericAddress.isVersion6(String(host)) && isPort(authority[authority.index(after: end)...])
        }
        let host = authority.prefix { $0 != ":" }
        return !host.isEmpty && isPort(authority[host.endIndex...])
    }

    private static func isPort(_ text: Substring) -> Bool {
        guard text.hasPrefix(":") else { return text.isEmpty }
        guard let port = UInt16(text.dropFirst()) else { return false }
        return port > 0
    }
}

// SPDX-License-Identifier: Apache-2.0

/// An address and port to listen on: `127.0.0.1:8080`, `[::1]:8080`; port 0 lets the system pick one.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// A numeric address without brackets.
    package var host: String
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Takes a text apart; nil when it is not a numeric address with a port.
    package init?(parsing text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Self.port(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard NumericAddress.isVersion6(String(host)) else { return nil }
        } else {
            guard NumericAddress.isVersion4(String(host)) else { return nil }
        }
        self.init(host: String(host), port: port)
    }

    private static func port(_ text: Substring) -> UInt16? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
            return nil
        }
        return UInt16(text)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

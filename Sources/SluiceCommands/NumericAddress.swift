// SPDX-License-Identifier: Apache-2.0
internal import SluiceServer

/// Addresses as digits; names are never looked up.
enum NumericAddress {
    static func isVersion4(_ text: String) -> Bool { !text.contains(":") && PeerAddress(parsing: text) != nil }

    static func isVersion6(_ text: String) -> Bool { text.contains(":") && PeerAddress(parsing: text) != nil }

    /// Whether `text` is an address, or a network such as `10.0.0.0/8` or `fd00::/8`.
    static func isNetwork(_ text: String) -> Bool {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let address = String(parts[0])
        let width = isVersion4(address) ? 32 : isVersion6(address) ? 128 : 0
        guard width > 0 else { return false }
        guard parts.count == 2 else { return true }
        guard let prefix = Int(parts[1]), parts[1].utf8.allSatisfy({ $0 >= UInt8(ascii: "0") }) else { return false }
        return (0...width).contains(prefix)
    }
}

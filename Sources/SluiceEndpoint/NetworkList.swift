// SPDX-License-Identifier: Apache-2.0
package import SluiceServer

/// Addresses and networks such as `10.0.0.0/8` or `fd00::/8`.
package struct NetworkList: Hashable, Sendable {
    private struct Network: Hashable, Sendable {
        var address: PeerAddress
        var highMask: UInt64
        var lowMask: UInt64

        func contains(_ other: PeerAddress) -> Bool {
            (address.high ^ other.high) & highMask == 0 && (address.low ^ other.low) & lowMask == 0
        }
    }

    private var networks: [Network] = []

    package init() {}

    /// Reads a list; nil when one of the texts is no network.
    package init?(parsing texts: [String]) {
        for text in texts {
            let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let address = PeerAddress(parsing: String(parts[0])) else { return nil }
            // IPv4 is the last 32 bits of a mapped IPv6 address.
            let isVersion4 = address.isVersion4 && !parts[0].contains(":")
            let width = isVersion4 ? 32 : 128
            var bits = width
            if parts.count == 2 {
                guard let given = Int(parts[1]), (0...width).contains(given) else { return nil }
                bits = given
            }
            bits += 128 - width
            networks.append(Network(address: address, highMask: Self.mask(bits), lowMask: Self.mask(bits - 64)))
        }
    }

    /// The first `bits` of 64.
    private static func mask(_ bits: Int) -> UInt64 {
        bits <= 0 ? 0 : bits >= 64 ? .max : ~(UInt64.max >> UInt64(bits))
    }

    package var isEmpty: Bool { networks.isEmpty }

    package func contains(_ address: PeerAddress) -> Bool {
        for network in networks where network.contains(address) { return true }
        return false
    }
}

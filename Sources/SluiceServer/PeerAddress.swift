// SPDX-License-Identifier: Apache-2.0
internal import CSluiceMicroHTTPD
internal import Glibc

/// A client's address; IPv4 is kept as its mapped IPv6 form, so that both compare alike.
package struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The 16 bytes in network order, as two numbers.
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    private static let mappedPrefix: UInt64 = 0xffff_0000_0000

    package init(version4 value: UInt32) {
        self.init(high: 0, low: Self.mappedPrefix | UInt64(value))
    }

    /// Reads digits such as `192.0.2.7` or `2001:db8::1`; nil for anything else.
    package init?(parsing text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(version4: UInt32(bigEndian: four.s_addr))
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.init(six)
        } else {
            return nil
        }
    }

    private init(_ six: in6_addr) {
        self = withUnsafeBytes(of: six) { bytes in
            PeerAddress(
                high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    init(_ storage: sockaddr_storage) {
        self = withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET6: PeerAddress(bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr)
            case AF_INET:
                PeerAddress(version4: UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
            default: PeerAddress(high: 0, low: 0)
            }
        }
    }

    package var isVersion4: Bool { high == 0 && low & ~0xffff_ffff == Self.mappedPrefix }

    /// What one customer of a provider holds: the address itself for IPv4, the first 64 bits for IPv6.
    package var network: PeerAddress { isVersion4 ? self : PeerAddress(high: high, low: 0) }

    /// The address in digits.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        if isVersion4 {
            var address = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
            inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
        } else {
            var bytes = (high.bigEndian, low.bigEndian)
            inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

// SPDX-License-Identifier: Apache-2.0
import SluiceEndpoint
import SluiceServer
import Testing

struct NetworkListTests {
    private func contains(_ list: [String], _ address: String) throws -> Bool {
        try #require(NetworkList(parsing: list)).contains(#require(PeerAddress(parsing: address)))
    }

    @Test(
        arguments: [
            (["10.0.0.0/8"], "10.255.0.1", true), (["10.0.0.0/8"], "11.0.0.1", false),
            (["192.0.2.7"], "192.0.2.7", true),
            (["192.0.2.7"], "192.0.2.8", false), (["192.0.2.0/25"], "192.0.2.127", true),
            (["192.0.2.0/25"], "192.0.2.128", false), (["0.0.0.0/0"], "203.0.113.9", true),
            (["0.0.0.0/0"], "2001:db8::1", false),
            (["fd00::/8"], "fdff::1", true), (["fd00::/8"], "fe00::1", false),
            (["2001:db8::/65"], "2001:db8::7fff:0:0:1", true),
            (["2001:db8::/65"], "2001:db8::8000:0:0:1", false), (["::/0"], "2001:db8::1", true),
            (["::1", "127.0.0.0/8"], "127.9.9.9", true),
            ([], "127.0.0.1", false), (["127.0.0.1"], "::ffff:127.0.0.1", true),
        ]
    )
    func `a network holds its addresses and no others`(list: [String], address: String, isInside: Bool) throws {
        #expect(try contains(list, address) == isInside)
    }

    @Test(arguments: ["example.com", "10.0.0.0/33", "10.0.0.0/x", "", "::1/129", "10.0.0.0/-1"])
    func `what is no network is refused`(text: String) { #expect(NetworkList(parsing: [text]) == nil) }

    @Test(
        arguments: [
            ("203.0.113.9", "203.0.113.9"), ("1.2.3.4, 203.0.113.9", "203.0.113.9"),
            ("203.0.113.9, 10.0.0.2", "203.0.113.9"),
            ("6.6.6.6, 203.0.113.9 ,10.0.0.2,10.0.0.3", "203.0.113.9"), ("203.0.113.9:4711", "203.0.113.9"),
            ("[2001:db8::1]:4711, 10.0.0.2", "2001:db8::1"), ("2001:db8::1", "2001:db8::1"), ("unknown, 10.0.0.2", nil),
            ("", nil), ("10.0.0.2", nil), ("203.0.113.9, ", nil), ("203.0.113.9, evil", nil),
        ] as [(String, String?)]
    )
    func `the client is the rightmost address that is no trusted proxy's`(field: String, expected: String?) throws {
        let trusted = try #require(NetworkList(parsing: ["10.0.0.0/8"]))
        let found = Array(field.utf8).withUnsafeBytes { ClientAddress.behindProxies($0, trusted: trusted) }
        #expect(found?.description == expected)
        #expect(ClientAddress.behindProxies(nil, trusted: trusted) == nil)
    }
}

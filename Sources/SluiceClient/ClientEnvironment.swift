// SPDX-License-Identifier: Apache-2.0
package import Foundation

/// What the client takes from outside: time, chance and the network.
package struct ClientEnvironment: Sendable {
    /// Unix milliseconds, as the device believes them.
    package var now: @Sendable () -> Int64
    /// 64 bits that nobody can guess.
    package var random: @Sendable () -> UInt64
    /// Sends a request; throws when no answer came.
    package var send: @Sendable (EndpointRequest) async throws -> EndpointAnswer

    package init(
        now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable () -> UInt64,
        send: @escaping @Sendable (EndpointRequest) async throws -> EndpointAnswer
    ) {
        self.now = now
        self.random = random
        self.send = send
    }

    /// The device's own clock, generator and network.
    package static func system() -> ClientEnvironment {
        let transport = URLSessionTransport()
        return ClientEnvironment(
            now: { Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)) },
            random: { .random(in: .min ... .max) },
            send: { try await transport.send($0) }
        )
    }
}

/// A POST to the endpoint.
package struct EndpointRequest: Sendable {
    package var url: URL
    package var headers: [String: String]
    package var body: [UInt8]
    /// The request is given up after so long.
    package var deadline: Duration
}
